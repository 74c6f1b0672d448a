// Judging a head by texts that it did not learn from: what its guesses would be worth if they were
// verified. Pure.
#ifndef HUNCH_TRAIN_JUDGE_H_
#define HUNCH_TRAIN_JUDGE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "learn/passes_needed.h"
#include "seq/types.h"
#include "train/head_batch.h"

namespace hunch {

// [steps][asked rows of a batch]: the token that the head finds likeliest.
using HeadGuesses = std::vector<std::vector<TokenId>>;

// runs[answer tokens]: how many guesses after each of them, made when it is the last committed one,
// come true one after the other. `place`: the text's in its batch.
std::vector<int> RunsOf(const TrainText& text, const HeadBatch::Text& place,
                        const HeadGuesses& guesses);

// What is known of a head.
struct Judgement {
  PassesNeeded passes;                // of chains of as many guesses as steps
  std::vector<int64_t> asked, right;  // [steps]: guesses whose chain was right up to them

  // A text's runs; steps: the longest that they can be.
  void Add(std::span<const int> runs, int steps);
  double tokens_per_pass() const { return passes.tokens_per_pass(); }
  // [steps]: right of asked; 0 where none was asked.
  std::vector<double> Shares() const;
};

}  // namespace hunch

#endif  // HUNCH_TRAIN_JUDGE_H_

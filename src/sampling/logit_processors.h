// What changes a logits row before temperature: logit bias, banned tokens, min_tokens, then the
// repetition, frequency and presence penalties. A pure function of (prefix, row); the counts that
// penalties need are cached between calls and always brought to the prefix that is handed in. Not
// thread safe.
#ifndef HUNCH_SAMPLING_LOGIT_PROCESSORS_H_
#define HUNCH_SAMPLING_LOGIT_PROCESSORS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "hunch/sampling_params.h"
#include "seq/types.h"

namespace hunch {

// How often each token occurs in a prefix, and in the output part of it.
//
// Invariants: the counts are those of `prefix_`; `distinct_` lists the tokens with a count above 0
// in the order of their first occurrence. So what was added last is undone first, and going from
// one branch of a draft tree to another costs the tokens in which they differ, not the prefix.
class PrefixCounts {
 public:
  PrefixCounts(int vocab_size, size_t prompt_len);

  // Tokens outside the vocabulary are not counted.
  void MoveTo(std::span<const TokenId> prefix);
  std::span<const TokenId> distinct() const { return distinct_; }
  int32_t in_output(TokenId token) const { return counts_[token].output; }

 private:
  struct Count {
    int32_t all = 0;
    int32_t output = 0;
  };
  bool Counted(TokenId token) const {
    return token >= 0 && static_cast<size_t>(token) < counts_.size();
  }
  void Add(TokenId token);
  void UndoLast();

  size_t prompt_len_;
  std::vector<Count> counts_;      // [vocab]
  std::vector<TokenId> prefix_;    // what the counts are of
  std::vector<TokenId> distinct_;  // first occurrences, in order
};

class LogitProcessors {
 public:
  LogitProcessors(const SamplingParams& params, int vocab_size, size_t prompt_len,
                  std::vector<TokenId> end_tokens);

  // The processed row [vocab]: `row` itself when nothing applies to this prefix, else scratch that
  // the next call overwrites.
  const float* Apply(std::span<const TokenId> prefix, const float* row);

 private:
  bool ForbidsEnd(size_t prefix_len) const {
    return !ends_.empty() && prefix_len < prompt_len_ + min_tokens_;
  }
  void Penalise(std::span<const TokenId> prefix);

  int vocab_size_;
  size_t prompt_len_;
  size_t min_tokens_;
  std::vector<std::pair<TokenId, float>> bias_;
  std::vector<TokenId> banned_;
  std::vector<TokenId> ends_;  // end tokens and stop_token_ids
  float repetition_;
  float frequency_;
  float presence_;
  bool penalises_;
  PrefixCounts counts_;
  std::vector<float> scratch_;  // [vocab], empty until it is first needed
};

}  // namespace hunch

#endif  // HUNCH_SAMPLING_LOGIT_PROCESSORS_H_

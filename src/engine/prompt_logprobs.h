// PromptLogprobs: what the target thought of each token of a request's prompt, from the logits row
// of the token before it. Not thread safe; one per request that asks for it.
#ifndef HUNCH_ENGINE_PROMPT_LOGPROBS_H_
#define HUNCH_ENGINE_PROMPT_LOGPROBS_H_

#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "sampling/logprobs.h"
#include "seq/types.h"

namespace hunch {

class PromptLogprobs {
 public:
  // Of such a prompt a pass reads no more: each row gets logits, which guesses of others want too.
  static constexpr int kMostRows = 16;

  // `prompt` is not empty and must outlive this. count: of the most likely tokens, beside the
  // prompt's.
  PromptLogprobs(std::span<const TokenId> prompt, int count, int vocab_size)
      : prompt_(prompt), count_(count), vocab_size_(vocab_size) {
    choices_.reserve(prompt.size());
    choices_.push_back({prompt[0], std::numeric_limits<float>::quiet_NaN(), {}});
  }

  bool complete() const { return choices_.size() == prompt_.size(); }
  // The position whose row is the next to be added.
  int next_row() const { return static_cast<int>(choices_.size()) - 1; }
  // row[at least vocab_size]
  void Add(const float* row) {
    TokenChoice choice;
    choice.token = prompt_[choices_.size()];
    logprobs_.Fill(row, vocab_size_, count_, choice);
    choices_.push_back(std::move(choice));
  }
  // [prompt tokens]
  std::vector<TokenChoice> Take() { return std::move(choices_); }

 private:
  std::span<const TokenId> prompt_;
  int count_;
  int vocab_size_;
  std::vector<TokenChoice> choices_;  // [tokens described], the first among them
  Logprobs logprobs_;
};

}  // namespace hunch

#endif  // HUNCH_ENGINE_PROMPT_LOGPROBS_H_

// A constraint without a grammar: what may follow is a hash of the last token, so that a text under
// it still repeats itself and can be guessed. Not thread safe.
#ifndef HUNCH_TESTS_SUPPORT_FAKE_CONSTRAINT_H_
#define HUNCH_TESTS_SUPPORT_FAKE_CONSTRAINT_H_

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "sampling/token_constraint.h"

namespace hunch {

// Whether `token` may follow `output`.
using ConstraintRule = std::function<bool(const std::vector<TokenId>& output, TokenId token)>;

class FakeConstraint : public TokenConstraint {
 public:
  FakeConstraint(int vocab, ConstraintRule rule) : vocab_(vocab), rule_(std::move(rule)) {}

  bool Advance(TokenId token) override {
    if (token < 0 || token >= vocab_ || !rule_(output_, token)) return false;
    output_.push_back(token);
    return true;
  }
  void Undo(int count) override { output_.resize(output_.size() - static_cast<size_t>(count)); }
  Allowed Fill(std::span<uint32_t> mask) override {
    std::fill(mask.begin(), mask.end(), 0);
    int allowed = 0;
    for (TokenId token = 0; token < vocab_; ++token) {
      if (!rule_(output_, token)) continue;
      mask[static_cast<size_t>(token) / 32] |= uint32_t{1} << token % 32;
      ++allowed;
    }
    if (allowed == vocab_) return Allowed::kAll;
    return allowed == 0 ? Allowed::kNothing : Allowed::kSome;
  }
  bool Complete() override { return complete_ && complete_(output_); }
  void Forced(std::vector<TokenId>& tokens) override {
    tokens.clear();
    const size_t before = output_.size();
    while (tokens.size() < 4) {
      TokenId only = -1;
      int allowed = 0;
      for (TokenId token = 0; token < vocab_; ++token) {
        if (!rule_(output_, token)) continue;
        only = token;
        ++allowed;
      }
      if (allowed != 1) break;
      tokens.push_back(only);
      output_.push_back(only);
    }
    output_.resize(before);
  }
  void CompleteWhen(std::function<bool(const std::vector<TokenId>& output)> complete) {
    complete_ = std::move(complete);
  }

 private:
  int vocab_;
  ConstraintRule rule_;
  std::function<bool(const std::vector<TokenId>& output)> complete_;
  std::vector<TokenId> output_;
};

// Three of four tokens after most tokens, all after some, and one only after a few.
inline bool HashRule(const std::vector<TokenId>& output, TokenId token) {
  const auto mix = [](uint32_t x) {
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
  };
  const uint32_t last = output.empty() ? 0 : static_cast<uint32_t>(output.back()) + 1;
  const uint32_t kind = mix(last) % 8;
  if (kind == 0) return true;
  const auto id = static_cast<uint32_t>(token);
  if (kind == 1) return id == 20 + mix(last + 77) % 50;
  return mix(last * 65537 + id) % 4 != 0;
}

}  // namespace hunch

#endif  // HUNCH_TESTS_SUPPORT_FAKE_CONSTRAINT_H_

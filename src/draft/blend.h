// Blend: how likely each token is to come next, out of counts of what followed contexts like this
// one. Contexts speak in the order in which they are trusted; each gets of what the ones before
// left open the more, the longer it is and the more often it was followed (prediction by partial
// matching does so with its escapes). Probabilities sum to less than 1. Allocates nothing while
// there are at most 32 guesses. Not thread safe.
#ifndef HUNCH_DRAFT_BLEND_H_
#define HUNCH_DRAFT_BLEND_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "seq/types.h"

namespace hunch {

class Blend {
 public:
  static constexpr int kLongestCounted = 64;  // a longer context says no more

  struct Guess {
    TokenId token;
    float probability;
  };

  Blend() { guesses_.reserve(32); }
  void Begin() {
    left_ = 1;
    guesses_.clear();
  }
  // A context of `length` tokens, at least 1, that was followed `followed` times, at least once.
  // `branches`: a token and its count, each; less_trusted: so many times more doubt.
  template <typename Branches>
  void Say(int length, int followed, const Branches& branches, float less_trusted = 1) {
    const float times = static_cast<float>(followed);
    const float said = left_ * times / (times + less_trusted * Doubt(length));
    left_ -= said;
    for (const auto& branch : branches) {
      const float probability = said * static_cast<float>(branch.count) / times;
      const auto known = std::find_if(guesses_.begin(), guesses_.end(),
                                      [&](const Guess& g) { return g.token == branch.token; });
      if (known != guesses_.end()) {
        known->probability = std::min(1.0f, known->probability + probability);
      } else {
        guesses_.push_back({branch.token, probability});
      }
    }
  }
  // In the order in which they were first named.
  std::span<const Guess> guesses() const { return guesses_; }

 private:
  // A context that was followed f times speaks for f / (f + doubt) of what is open. Fitted to
  // outputs of models of 135M and 1.5B parameters on eight kinds of prompts; the optimum is flat.
  static float Doubt(int length) {
    static const std::array<float, kLongestCounted + 1> kByLength = [] {
      std::array<float, kLongestCounted + 1> doubt{};
      for (size_t i = 1; i < doubt.size(); ++i) {
        doubt[i] = 3.0f / std::pow(static_cast<float>(i), 1.1f);
      }
      return doubt;
    }();
    return kByLength[static_cast<size_t>(std::min(length, kLongestCounted))];
  }

  float left_ = 1;
  std::vector<Guess> guesses_;
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_BLEND_H_

// What right guesses are worth: the passes that a chain of guesses leaves of a text. Pure.
#ifndef HUNCH_LEARN_PASSES_NEEDED_H_
#define HUNCH_LEARN_PASSES_NEEDED_H_

#include <algorithm>
#include <cstdint>
#include <span>

namespace hunch {

struct PassesNeeded {
  int64_t passes = 0;
  int64_t tokens = 0;  // that they gave; an answer's first token comes from its prompt's pass

  // An answer, as the engine decodes it at T = 0. runs[answer tokens]: after each token, how many
  // guesses come true one after the other.
  void Add(std::span<const int> runs) {
    const int64_t last = static_cast<int64_t>(runs.size()) - 1;
    for (int64_t at = 0; at < last; ++passes) {
      const int64_t given = std::min<int64_t>(runs[at] + 1, last - at);
      tokens += given;
      at += given;
    }
  }
  double tokens_per_pass() const {
    return passes == 0 ? 0 : static_cast<double>(tokens) / static_cast<double>(passes);
  }
};

}  // namespace hunch

#endif  // HUNCH_LEARN_PASSES_NEEDED_H_

// LearnedText: committed text with what the target computed for it: what a head learns from, or is
// scored on, while serving. A value.
#ifndef HUNCH_LEARN_LEARNED_TEXT_H_
#define HUNCH_LEARN_LEARNED_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "seq/types.h"

namespace hunch {

// More of a text are several texts.
inline constexpr int kMostLearnedTokens = 2048;

struct LearnedText {
  float temperature = 0;
  uint32_t prompt = 0;  // tokens before those that were chosen; the others follow them
  std::vector<TokenId> tokens;
  std::vector<std::byte> rows;  // [tokens][row_bytes] (feature_rows.h); the last one is zero

  int size() const { return static_cast<int>(tokens.size()); }
  int answer() const { return size() - static_cast<int>(prompt); }
};

}  // namespace hunch

#endif  // HUNCH_LEARN_LEARNED_TEXT_H_

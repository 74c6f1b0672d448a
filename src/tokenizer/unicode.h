// What the pre-tokenizers and the normaliser ask of Unicode; the data is utf8proc's (Unicode 15)
// and a list of what Unicode 16 added.
// Pure functions.
#ifndef HUNCH_TOKENIZER_UNICODE_H_
#define HUNCH_TOKENIZER_UNICODE_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace hunch {

// Disjoint; `\s` of the patterns is kSpace or kNewline.
enum class CharClass : uint8_t {
  kLetter,   // \p{L}
  kNumber,   // \p{N}
  kSpace,    // \s without \r and \n
  kNewline,  // [\r\n]
  kOther,    // the rest: punctuation, symbols, marks, controls, unassigned, invalid bytes
};

CharClass ClassOf(uint32_t code_point);

// Normalisation form C. False when `text` is in that form already (`normalized` is left alone).
// Invalid bytes are copied as they are and nothing is reordered or composed across them.
// O(n log n) for any text, also for long runs of combining marks.
bool NormalizeNfc(std::string_view text, std::string* normalized);

}  // namespace hunch

#endif  // HUNCH_TOKENIZER_UNICODE_H_

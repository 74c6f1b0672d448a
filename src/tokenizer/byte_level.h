// The byte-level alphabet of GPT-2: every byte is written as one printable character, so that a
// vocabulary of byte strings can be stored as text. Bytes that are printable in Latin-1 (without
// the space, NBSP and the soft hyphen) stand for themselves, the other 68 for U+0100, U+0101, ...
// in ascending order.
#ifndef HUNCH_TOKENIZER_BYTE_LEVEL_H_
#define HUNCH_TOKENIZER_BYTE_LEVEL_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace hunch {

// The alphabet's character for a byte, as UTF-8.
std::string ByteLevelCharacter(uint8_t byte);

// Appends the bytes that `text` stands for. False, with nothing appended, when it holds a character
// outside the alphabet.
bool AppendByteLevelDecoded(std::string_view text, std::string* bytes);

}  // namespace hunch

#endif  // HUNCH_TOKENIZER_BYTE_LEVEL_H_

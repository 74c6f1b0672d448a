// Text as chat templates need it: by code point, as Python counts. Stateless and thread safe.
// Bytes that are not UTF-8 count as one code point each, so that no input can make these functions
// fail.
#ifndef HUNCH_CHAT_CODE_POINTS_H_
#define HUNCH_CHAT_CODE_POINTS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hunch::chat {

struct CodePoint {
  uint32_t code;  // the byte itself (0x80..0xff) when the bytes are not UTF-8
  size_t length;  // bytes taken; at least 1
};

// The code point that starts at `position` (< text.size()).
CodePoint DecodeAt(std::string_view text, size_t position);
// The code point that ends just before `end` (0 < end <= text.size()).
CodePoint DecodeBefore(std::string_view text, size_t end);

size_t CountCodePoints(std::string_view text);
// Byte offset of code point `index`; text.size() when there are not so many.
size_t OffsetOfCodePoint(std::string_view text, size_t index);

// Python's str.isspace and \s for one code point.
bool IsSpace(uint32_t code);
// What repr() shows as an escape. Unassigned code points are taken as printable.
bool IsUnprintable(uint32_t code);

// Case of ASCII, Latin-1, Greek and Cyrillic letters; other letters stay as they are.
uint32_t ToUpper(uint32_t code);
uint32_t ToLower(uint32_t code);
bool IsCased(uint32_t code);

}  // namespace hunch::chat

#endif  // HUNCH_CHAT_CODE_POINTS_H_

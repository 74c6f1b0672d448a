#include "chat/code_points.h"

#include "base/utf8.h"

namespace hunch::chat {
namespace {

bool InRange(uint32_t code, uint32_t low, uint32_t high) { return code >= low && code <= high; }

}  // namespace

CodePoint DecodeAt(std::string_view text, size_t position) {
  const Utf8Char character = DecodeUtf8(text, position);
  if (character.state == Utf8State::kValid) return {character.code_point, character.length};
  return {static_cast<unsigned char>(text[position]), 1};
}

CodePoint DecodeBefore(std::string_view text, size_t end) {
  for (size_t length = 2; length <= 4 && length <= end; ++length) {
    const CodePoint point = DecodeAt(text.substr(0, end), end - length);
    if (point.length == length) return point;
  }
  return {static_cast<unsigned char>(text[end - 1]), 1};
}

size_t CountCodePoints(std::string_view text) {
  size_t count = 0;
  for (size_t i = 0; i < text.size(); i += DecodeAt(text, i).length) ++count;
  return count;
}

size_t OffsetOfCodePoint(std::string_view text, size_t index) {
  size_t offset = 0;
  while (index > 0 && offset < text.size()) {
    offset += DecodeAt(text, offset).length;
    --index;
  }
  return offset;
}

bool IsSpace(uint32_t code) {
  return InRange(code, 0x09, 0x0d) || InRange(code, 0x1c, 0x20) || code == 0x85 || code == 0xa0 ||
         code == 0x1680 || InRange(code, 0x2000, 0x200a) || code == 0x2028 || code == 0x2029 ||
         code == 0x202f || code == 0x205f || code == 0x3000;
}

bool IsUnprintable(uint32_t code) {
  if (code == ' ') return false;
  return code < 0x20 || InRange(code, 0x7f, 0xa0) || code == 0xad || IsSpace(code) ||
         InRange(code, 0x200b, 0x200f) || InRange(code, 0x202a, 0x202e) ||
         InRange(code, 0x2060, 0x206f) || InRange(code, 0xe000, 0xf8ff) || code == 0xfeff ||
         InRange(code, 0xfff0, 0xfffb) || code >= 0xe0000;
}

uint32_t ToUpper(uint32_t code) {
  if (InRange(code, 'a', 'z')) return code - 32;
  if (InRange(code, 0xe0, 0xfe) && code != 0xf7) return code - 32;
  if (code == 0xff) return 0x178;
  if (InRange(code, 0x100, 0x137) || InRange(code, 0x14a, 0x177)) return code & ~1u;
  if (InRange(code, 0x139, 0x148) || InRange(code, 0x179, 0x17e)) return code - (code % 2 == 0);
  if (InRange(code, 0x3b1, 0x3c9) && code != 0x3c2) return code - 32;
  if (InRange(code, 0x430, 0x44f)) return code - 32;
  if (InRange(code, 0x450, 0x45f)) return code - 80;
  return code;
}

uint32_t ToLower(uint32_t code) {
  if (InRange(code, 'A', 'Z')) return code + 32;
  if (InRange(code, 0xc0, 0xde) && code != 0xd7) return code + 32;
  if (code == 0x178) return 0xff;
  // 0x130 and 0x131 are the dotted and dotless i, which are not a pair.
  if (code == 0x130 || code == 0x131) return code;
  if (InRange(code, 0x100, 0x137) || InRange(code, 0x14a, 0x177)) return code | 1u;
  if (InRange(code, 0x139, 0x148) || InRange(code, 0x179, 0x17e)) return code + (code % 2 != 0);
  if (InRange(code, 0x391, 0x3a9) && code != 0x3a2) return code + 32;
  if (InRange(code, 0x410, 0x42f)) return code + 32;
  if (InRange(code, 0x400, 0x40f)) return code + 80;
  return code;
}

bool IsCased(uint32_t code) { return ToUpper(code) != code || ToLower(code) != code; }

}  // namespace hunch::chat

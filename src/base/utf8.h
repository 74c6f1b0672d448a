// UTF-8 as the Unicode standard defines it (table 3-7): overlong forms, surrogates and code points
// past U+10FFFF are invalid. Pure functions.
#ifndef HUNCH_BASE_UTF8_H_
#define HUNCH_BASE_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hunch {

enum class Utf8State : uint8_t {
  kValid,
  kInvalid,     // `length` bytes form a maximal invalid subpart
  kIncomplete,  // the text ends inside a character that more bytes could complete
};

struct Utf8Char {
  uint32_t code_point;  // only when valid
  uint32_t length;      // bytes, at least 1
  Utf8State state;
};

// The character at text[position]; position < text.size().
inline Utf8Char DecodeUtf8(std::string_view text, size_t position) {
  const auto first = static_cast<uint8_t>(text[position]);
  if (first < 0x80) return {first, 1, Utf8State::kValid};
  if (first < 0xC2 || first > 0xF4) return {0, 1, Utf8State::kInvalid};
  const uint32_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  // Only the second byte has a range that depends on the first.
  uint8_t low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  uint8_t high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  uint32_t code_point = first & (0x7Fu >> length);
  for (uint32_t i = 1; i < length; ++i) {
    if (position + i >= text.size()) return {0, i, Utf8State::kIncomplete};
    const auto byte = static_cast<uint8_t>(text[position + i]);
    if (byte < low || byte > high) return {0, i, Utf8State::kInvalid};
    code_point = code_point << 6 | (byte & 0x3Fu);
    low = 0x80;
    high = 0xBF;
  }
  return {code_point, length, Utf8State::kValid};
}

// `code_point` must be a Unicode scalar value.
inline void AppendUtf8(uint32_t code_point, std::string* text) {
  if (code_point < 0x80) {
    text->push_back(static_cast<char>(code_point));
    return;
  }
  const int tail = code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;
  const uint32_t marker = tail == 1 ? 0xC0 : tail == 2 ? 0xE0 : 0xF0;
  text->push_back(static_cast<char>(marker | code_point >> (6 * tail)));
  for (int shift = 6 * (tail - 1); shift >= 0; shift -= 6) {
    text->push_back(static_cast<char>(0x80 | (code_point >> shift & 0x3F)));
  }
}

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

// For error messages about a file's strings: in quotes, cut after 48 bytes, everything that is not
// printable ASCII or a valid character of two bytes or more as \xNN (the terminal is not the file's
// to command).
std::string Quote(std::string_view text);

}  // namespace hunch

#endif  // HUNCH_BASE_UTF8_H_

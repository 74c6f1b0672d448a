#include "chat/literals.h"

#include <algorithm>
#include <charconv>

#include "base/utf8.h"
#include "chat/code_points.h"

namespace hunch::chat {
namespace {

std::string WithoutUnderscores(std::string_view literal) {
  std::string digits(literal);
  std::erase(digits, '_');
  return digits;
}

// Reads exactly `count` hexadecimal digits at `*position`.
std::optional<uint32_t> ReadHex(std::string_view text, size_t* position, size_t count) {
  if (*position + count > text.size()) return std::nullopt;
  uint32_t code = 0;
  const char* begin = text.data() + *position;
  const auto [end, error] = std::from_chars(begin, begin + count, code, 16);
  if (error != std::errc() || end != begin + count) return std::nullopt;
  *position += count;
  return code;
}

uint32_t ReadOctal(std::string_view text, size_t* position) {
  uint32_t code = 0;
  for (int i = 0; i < 3 && *position < text.size(); ++i) {
    const char c = text[*position];
    if (c < '0' || c > '7') break;
    code = code * 8 + static_cast<uint32_t>(c - '0');
    ++*position;
  }
  return code;
}

char SimpleEscape(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'v':
      return '\v';
    case '\\':
    case '\'':
    case '"':
      return c;
    default:
      return '\0';
  }
}

// The escape whose sign is at `*position`, after the backslash.
bool DecodeEscape(std::string_view text, size_t* position, std::string* out) {
  const char c = text[*position];
  if (c == '\n') {
    ++*position;
    return true;
  }
  if (const char simple = SimpleEscape(c); simple != '\0') {
    out->push_back(simple);
    ++*position;
    return true;
  }
  if (c >= '0' && c <= '7') {
    AppendUtf8(ReadOctal(text, position), out);
    return true;
  }
  if (c != 'x' && c != 'u' && c != 'U') {
    out->push_back('\\');  // Python keeps an escape that it does not know
    return true;
  }
  ++*position;
  const auto code = ReadHex(text, position, c == 'x' ? 2 : c == 'u' ? 4 : 8);
  if (!code || *code > 0x10ffff || (*code >= 0xd800 && *code <= 0xdfff)) return false;
  AppendUtf8(*code, out);
  return true;
}

}  // namespace

std::optional<std::string> DecodeStringLiteral(std::string_view literal) {
  const std::string_view text = literal.substr(1, literal.size() - 2);
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out.push_back(text[i++]);
      continue;
    }
    ++i;
    if (!DecodeEscape(text, &i, &out)) return std::nullopt;
  }
  return out;
}

std::optional<int64_t> DecodeInteger(std::string_view literal) {
  const std::string digits = WithoutUnderscores(literal);
  int base = 10;
  size_t start = 0;
  if (digits.size() > 2 && digits[0] == '0' && (digits[1] | 0x20) > '9') {
    const char prefix = static_cast<char>(digits[1] | 0x20);
    base = prefix == 'x' ? 16 : prefix == 'o' ? 8 : 2;
    start = 2;
  }
  int64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data() + start, end, value, base);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::optional<double> DecodeFloat(std::string_view literal) {
  const std::string digits = WithoutUnderscores(literal);
  double value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace hunch::chat

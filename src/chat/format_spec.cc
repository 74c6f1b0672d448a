#include "chat/format_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "chat/code_points.h"
#include "chat/print.h"

namespace hunch::chat {
namespace {

bool IsAlign(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

// Puts a comma before every third digit of the whole part.
void AddThousands(std::string* digits) {
  size_t end = 0;
  while (end < digits->size() && (*digits)[end] >= '0' && (*digits)[end] <= '9') ++end;
  for (size_t at = end; at > 3; at -= 3) digits->insert(at - 3, ",");
}

std::string IntegerDigits(uint64_t magnitude, const FormatSpec& spec) {
  switch (spec.type) {
    case 'x':
      return spec.alternate ? fmt::format("{:#x}", magnitude) : fmt::format("{:x}", magnitude);
    case 'X':
      return spec.alternate ? fmt::format("{:#X}", magnitude) : fmt::format("{:X}", magnitude);
    case 'o':
      return (spec.alternate ? "0o" : "") + fmt::format("{:o}", magnitude);
    case 'b':
      return spec.alternate ? fmt::format("{:#b}", magnitude) : fmt::format("{:b}", magnitude);
    default:
      return fmt::format("{}", magnitude);
  }
}

std::string FloatDigits(double magnitude, const FormatSpec& spec) {
  const int precision = spec.precision < 0 ? 6 : spec.precision;
  switch (spec.type) {
    case 'e':
      return fmt::format("{:.{}e}", magnitude, precision);
    case 'E':
      return fmt::format("{:.{}E}", magnitude, precision);
    case 'f':
    case 'F':
      return fmt::format("{:.{}f}", magnitude, precision);
    case 'g':
    case 'n':
      return fmt::format("{:.{}g}", magnitude, precision);
    case 'G':
      return fmt::format("{:.{}G}", magnitude, precision);
    case '%':
      return fmt::format("{:.{}f}%", magnitude * 100, precision);
    default:
      if (spec.precision < 0) return FloatRepr(magnitude);
      return fmt::format("{:.{}g}", magnitude, std::max(precision, 1));
  }
}

Text Pad(const Text& body, const FormatSpec& spec, char default_align) {
  const size_t size = CountCodePoints(body.bytes());
  const size_t width = static_cast<size_t>(spec.width);
  if (size >= width) return body;
  const size_t missing = width - size;
  const char align = spec.align == '\0' ? default_align : spec.align;
  const size_t left = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  Text out;
  for (size_t i = 0; i < left; ++i) out.Append(spec.fill, false);
  out.Append(body);
  for (size_t i = left; i < missing; ++i) out.Append(spec.fill, false);
  return out;
}

Text FormatNumber(const Value& value, const FormatSpec& spec) {
  const bool as_float =
      value.is_float() || std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos;
  std::string digits;
  bool negative = false;
  if (as_float) {
    negative = std::signbit(value.AsDouble());
    digits = FloatDigits(std::abs(value.AsDouble()), spec);
  } else {
    negative = value.AsInt() < 0;
    const auto bits = static_cast<uint64_t>(value.AsInt());
    digits = IntegerDigits(negative ? 0 - bits : bits, spec);
  }
  if (spec.thousands) AddThousands(&digits);
  std::string sign = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  if (spec.align == '=') {
    while (sign.size() + digits.size() < static_cast<size_t>(spec.width))
      digits = spec.fill + digits;
  }
  return Pad(Text(sign + digits, value.from_request()), spec, '>');
}

}  // namespace

bool ReadFormatNumber(std::string_view text, size_t* position, int* number) {
  int value = 0;
  while (*position < text.size() && text[*position] >= '0' && text[*position] <= '9') {
    value = value * 10 + (text[*position] - '0');
    if (value > kMaxFormatWidth) return false;
    ++*position;
  }
  *number = value;
  return true;
}

std::optional<FormatSpec> ParseFormatSpec(std::string_view text) {
  FormatSpec spec;
  size_t i = 0;
  if (!text.empty()) {
    const size_t first = DecodeAt(text, 0).length;
    if (first < text.size() && IsAlign(text[first])) {
      spec.fill = text.substr(0, first);
      spec.align = text[first];
      i = first + 1;
    } else if (IsAlign(text[0])) {
      spec.align = text[0];
      i = 1;
    }
  }
  const auto at = [&text](size_t index) { return index < text.size() ? text[index] : '\0'; };
  if (at(i) == '-' || at(i) == '+' || at(i) == ' ') spec.sign = text[i++];
  if (at(i) == '#') spec.alternate = text[i++] == '#';
  if (at(i) == '0' && spec.align == '\0') {
    spec.fill = "0";
    spec.align = '=';
  }
  if (!ReadFormatNumber(text, &i, &spec.width)) return std::nullopt;
  if (at(i) == ',') spec.thousands = text[i++] == ',';
  if (at(i) == '.') {
    ++i;
    if (at(i) < '0' || at(i) > '9' || !ReadFormatNumber(text, &i, &spec.precision)) {
      return std::nullopt;
    }
  }
  if (i < text.size()) spec.type = text[i++];
  static constexpr std::string_view kTypes("\0sdxXobeEfFgG%n", 15);
  if (i != text.size() || kTypes.find(spec.type) == std::string_view::npos) return std::nullopt;
  return spec;
}

Text FormatValue(Runtime& runtime, const Value& value, const FormatSpec& spec) {
  runtime.Spend(1 + static_cast<size_t>(spec.width) / 8);
  runtime.SpendBytes(static_cast<size_t>(spec.width) * spec.fill.size());
  const bool numeric_type = spec.type != '\0' && spec.type != 's';
  if (value.is_number() && spec.type != 's') {
    const bool integer_type = std::string_view("dxXob").find(spec.type) != std::string_view::npos;
    if (value.is_float() && spec.type != '\0' && integer_type) {
      runtime.Fail(fmt::format("unknown format code '{}' for a float", spec.type));
      return {};
    }
    return FormatNumber(value, spec);
  }
  if (numeric_type) {
    runtime.Fail(fmt::format("unknown format code '{}' for '{}'", spec.type, TypeName(value)));
    return {};
  }
  Text text = ToText(runtime, value);
  if (spec.precision >= 0) {
    text = text.Slice(0, OffsetOfCodePoint(text.bytes(), static_cast<size_t>(spec.precision)));
  }
  return Pad(text, spec, '<');
}

}  // namespace hunch::chat

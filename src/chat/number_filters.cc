// Filters that make numbers.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>

#include "chat/code_points.h"
#include "chat/filters.h"
#include "chat/operators.h"

namespace hunch::chat {
namespace {

std::string_view StripSpace(std::string_view text) {
  while (!text.empty() && IsSpace(DecodeAt(text, 0).code)) {
    text.remove_prefix(DecodeAt(text, 0).length);
  }
  while (!text.empty() && IsSpace(DecodeBefore(text, text.size()).code)) {
    text.remove_suffix(DecodeBefore(text, text.size()).length);
  }
  return text;
}

std::string_view StripPlus(std::string_view text) {
  return text.size() > 1 && text[0] == '+' && text[1] != '-' ? text.substr(1) : text;
}

std::optional<int64_t> ParseInt(std::string_view text, int base) {
  text = StripPlus(StripSpace(text));
  if (base == 16 && (text.starts_with("0x") || text.starts_with("0X"))) text.remove_prefix(2);
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::optional<double> ParseFloat(std::string_view text) {
  text = StripPlus(StripSpace(text));
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error == std::errc::invalid_argument || stop != end) return std::nullopt;
  return value;
}

std::optional<int64_t> Truncate(double value) {
  // 2^63 is exact as a double; anything below it fits.
  if (std::isnan(value) || std::abs(value) >= 0x1p63) return std::nullopt;
  return static_cast<int64_t>(value);
}

std::optional<double> NumberOf(const Value& value) {
  if (value.is_number()) return value.AsDouble();
  return value.is_string() ? ParseFloat(value.AsBytes()) : std::nullopt;
}

bool HasRequest(const Value& value) {
  return value.is_string() ? value.AsText().HasRequest() : value.from_request();
}

Value Int(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const Value* otherwise = arguments.Get(0, "default");
  const Value* base = arguments.Get(1, "base");
  if (value.is_undefined()) return runtime.Fail(value.Reason());
  const bool request = HasRequest(value);
  if (value.is_integral()) return Value::Int(value.AsInt()).WithRequest(request);
  if (value.is_string()) {
    const int64_t radix = base != nullptr && base->is_integral() ? base->AsInt() : 10;
    if (radix < 2 || radix > 36) return runtime.Fail("the base of int must be 2 to 36");
    if (const auto parsed = ParseInt(value.AsBytes(), static_cast<int>(radix))) {
      return Value::Int(*parsed).WithRequest(request);
    }
  }
  if (const auto number = NumberOf(value)) {
    if (const auto whole = Truncate(*number)) return Value::Int(*whole).WithRequest(request);
  }
  return otherwise != nullptr ? *otherwise : Value::Int(0);
}

Value Float(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const Value* otherwise = arguments.Get(0, "default");
  if (value.is_undefined()) return runtime.Fail(value.Reason());
  if (const auto number = NumberOf(value)) {
    return Value::Float(*number).WithRequest(HasRequest(value));
  }
  return otherwise != nullptr ? *otherwise : Value::Float(0);
}

Value Abs(Runtime& runtime, const Value& value, const Arguments&) {
  if (!value.is_number()) {
    return runtime.Fail(fmt::format("bad operand type for abs(): '{}'", TypeName(value)));
  }
  if (value.AsDouble() < 0) return Negate(runtime, value);
  return value.is_bool() ? Value::Int(value.AsInt()) : value;
}

// Python's round: correct rounding of the decimal form, which formatting does exactly.
double RoundHalfEven(double value, int digits) {
  if (!std::isfinite(value)) return value;
  if (digits >= 0) return *ParseFloat(fmt::format("{:.{}f}", value, digits));
  double scale = 1;
  for (int i = 0; i > digits; --i) scale *= 10;
  return std::nearbyint(value / scale) * scale;
}

Value Round(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const Value* precision = arguments.Get(0, "precision");
  const Value* method = arguments.Get(1, "method");
  if (value.is_undefined()) return runtime.Fail(value.Reason());
  if (!value.is_number()) {
    return runtime.Fail(fmt::format("round needs a number, not {}", TypeName(value)));
  }
  const int64_t digits = precision != nullptr && precision->is_integral() ? precision->AsInt() : 0;
  if (digits < -20 || digits > 20) return runtime.Fail("the precision of round is -20 to 20");
  const std::string how =
      method != nullptr && method->is_string() ? method->AsBytes() : std::string("common");
  const bool request = value.from_request();
  if (how == "common") {
    if (value.is_integral() && digits >= 0) return Value::Int(value.AsInt()).WithRequest(request);
    const double rounded = RoundHalfEven(value.AsDouble(), static_cast<int>(digits));
    if (!value.is_integral()) return Value::Float(rounded).WithRequest(request);
    const auto whole = Truncate(rounded);
    return whole ? Value::Int(*whole).WithRequest(request)
                 : runtime.Fail("the result of round does not fit 64 bits");
  }
  if (how != "ceil" && how != "floor") {
    return runtime.Fail("method must be common, ceil or floor");
  }
  double scale = 1;
  for (int64_t i = 0; i < std::abs(digits); ++i) scale *= 10;
  const double scaled = digits < 0 ? value.AsDouble() / scale : value.AsDouble() * scale;
  const double whole = how == "ceil" ? std::ceil(scaled) : std::floor(scaled);
  return Value::Float(digits < 0 ? whole * scale : whole / scale).WithRequest(request);
}

}  // namespace

BuiltinFunction FindNumberFilter(std::string_view name) {
  static const std::unordered_map<std::string_view, BuiltinFunction> kFilters = {
      {"int", Int}, {"float", Float}, {"abs", Abs}, {"round", Round}};
  const auto found = kFilters.find(name);
  return found == kFilters.end() ? nullptr : found->second;
}

}  // namespace hunch::chat

#include "apps/numbers.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace hunch {
namespace {

template <typename T>
bool ParseWhole(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

// Bounds at a type's limit are no bounds to a person.
std::string Describe(double least, double most, bool open) {
  const std::string from = open ? fmt::format("above {}", least) : fmt::format("from {}", least);
  if (most >= std::numeric_limits<int>::max()) return open ? from : fmt::format("{} up", from);
  return fmt::format("{} to {}", from, most);
}

Error OutOfRange(std::string_view text, std::string_view kind, double least, double most,
                 bool open) {
  return {ErrorCode::kInvalidArgument,
          fmt::format("'{}' is out of range; give {} {}", text, kind, Describe(least, most, open))};
}

}  // namespace

Status ReadFloat(std::string_view text, FloatRange range, float& out) {
  double value = 0;
  if (!ParseWhole(text, value) || !std::isfinite(value)) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("'{}' is not a number", text)};
  }
  const bool low = range.open ? value <= range.least : value < range.least;
  if (low || value > range.most) {
    return OutOfRange(text, "a number", range.least, range.most, range.open);
  }
  out = static_cast<float>(value);
  return Ok{};
}

Status ReadInt(std::string_view text, int least, int most, int& out) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("'{}' is not a whole number", text)};
  }
  if (error != std::errc() || value < least || value > most) {
    return OutOfRange(text, "a whole number", least, most, false);
  }
  out = static_cast<int>(value);
  return Ok{};
}

Status ReadUnsigned(std::string_view text, uint64_t& out) {
  if (ParseWhole(text, out)) return Ok{};
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("'{}' is not a whole number from 0 to 2^64 - 1", text)};
}

}  // namespace hunch

#include "server/fields.h"

#include <fmt/format.h>

#include <algorithm>

namespace hunch {
namespace {

// What was given, short enough for a message.
std::string Shown(const Json& value) {
  constexpr size_t kMost = 60;
  const std::string text = DumpJson(value);
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

}  // namespace

Fields::Fields(const Json& object, std::string prefix)
    : object_(object), prefix_(std::move(prefix)) {}

void Fields::Fail(std::string_view name, std::string message) {
  if (!error_) error_ = {.message = std::move(message), .param = prefix_ + std::string(name)};
}

void Fields::WrongType(std::string_view name, std::string_view wanted, const Json& value) {
  Fail(name, fmt::format("'{}{}' must be {}, not {}", prefix_, name, wanted, JsonKind(value)));
}

const Json* Fields::Any(std::string_view name) {
  known_.push_back(name);
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void Fields::Number(std::string_view name, const NumberRange& range, float& out) {
  const Json* value = Any(name);
  if (value == nullptr) return;
  if (!value->is_number()) return WrongType(name, "a number", *value);
  const double number = value->get<double>();
  const bool above = range.open ? number > range.least : number >= range.least;
  if (!(above && number <= range.most)) {
    const bool bounded = range.most < std::numeric_limits<float>::max();
    return Fail(name, fmt::format("'{}{}' is {}: it must be {} {}{}", prefix_, name, Shown(*value),
                                  range.open ? "above" : "at least", range.least,
                                  bounded ? fmt::format(" and at most {}", range.most) : ""));
  }
  out = static_cast<float>(number);
}

void Fields::Integer(std::string_view name, int64_t least, int64_t most, int& out) {
  const Json* value = Any(name);
  if (value == nullptr) return;
  if (!value->is_number()) return WrongType(name, "a whole number", *value);
  if (!value->is_number_integer()) {
    return Fail(
        name, fmt::format("'{}{}' is {}: it must be a whole number", prefix_, name, Shown(*value)));
  }
  const bool huge = value->is_number_unsigned() &&
                    value->get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()};
  const int64_t number = huge ? 0 : value->get<int64_t>();
  if (huge || number < least || number > most) {
    return Fail(name, fmt::format("'{}{}' is {}: it must be {} to {}", prefix_, name, Shown(*value),
                                  least, most));
  }
  out = static_cast<int>(number);
}

void Fields::Bool(std::string_view name, bool& out) {
  const Json* value = Any(name);
  if (value == nullptr) return;
  if (!value->is_boolean()) return WrongType(name, "true or false", *value);
  out = value->get<bool>();
}

void Fields::Text(std::string_view name, std::string& out) {
  const Json* value = Any(name);
  if (value == nullptr) return;
  if (!value->is_string()) return WrongType(name, "a string", *value);
  out = value->get<std::string>();
}

void Fields::Tokens(std::string_view name, std::vector<int32_t>& out) {
  const Json* value = Any(name);
  if (value == nullptr) return;
  const auto is_token = [](const Json& id) {
    return id.is_number_unsigned() &&
           id.get<uint64_t>() <= uint64_t{std::numeric_limits<int32_t>::max()};
  };
  if (!value->is_array() || !std::all_of(value->begin(), value->end(), is_token)) {
    return Fail(name, fmt::format("'{}{}' must be an array of token ids", prefix_, name));
  }
  out = value->get<std::vector<int32_t>>();
}

void Fields::Unsupported(std::string_view name, std::string_view instead) {
  const Json* value = Any(name);
  if (value == nullptr || *value == false || *value == "" ||
      (value->is_structured() && value->empty())) {
    return;
  }
  Fail(name, fmt::format("'{}{}' is not supported: {}", prefix_, name, instead));
  if (error_->param == prefix_ + std::string(name)) error_->code = "unsupported_parameter";
}

const std::optional<ApiError>& Fields::Finish() {
  for (const auto& [key, value] : object_.items()) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    const std::string name = key.substr(0, 60);
    Fail(name, fmt::format("unknown field '{}{}'", prefix_, name));
  }
  return error_;
}

}  // namespace hunch

#include "session/json_text.h"

#include <fmt/format.h>

namespace hunch {

namespace {

// More than any input needs; walking a value takes stack for each level.
constexpr int kDeepest = 100;

}  // namespace

Result<Json> ParseJson(std::string_view text) {
  bool too_deep = false;
  // False leaves out a value, and so builds none of what is too deep.
  const auto keep = [&](int depth, Json::parse_event_t event, const Json&) {
    const bool opens =
        event == Json::parse_event_t::array_start || event == Json::parse_event_t::object_start;
    too_deep = too_deep || (opens && depth >= kDeepest);
    return !too_deep;
  };
  try {
    Json value = Json::parse(text, keep);
    if (!too_deep) return value;
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("bad JSON: nested deeper than {} levels", kDeepest)};
  } catch (const Json::exception& exception) {
    // what() starts with the library's own "[json.exception.parse_error.101] ".
    std::string_view reason = exception.what();
    if (const size_t end = reason.find("] "); end != std::string_view::npos) {
      reason.remove_prefix(end + 2);
    }
    // It may quote what it read, a number of a million digits too.
    constexpr size_t kMost = 300;
    return Error{ErrorCode::kInvalidArgument, fmt::format("bad JSON: {}{}", reason.substr(0, kMost),
                                                          reason.size() > kMost ? "..." : "")};
  }
}

Result<Json> ParseJsonObject(std::string_view text) {
  HUNCH_ASSIGN_OR_RETURN(Json value, ParseJson(text));
  if (!value.is_object()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("bad JSON: expected an object, got {}", JsonKind(value))};
  }
  return value;
}

std::string DumpJson(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string_view JsonKind(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "an array";
    case Json::value_t::string:
      return "a string";
    case Json::value_t::boolean:
      return "a boolean";
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
    case Json::value_t::number_float:
      return "a number";
    case Json::value_t::binary:
    case Json::value_t::discarded:
      break;
  }
  return "something else";
}

}  // namespace hunch

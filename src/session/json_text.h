// JSON in and out of the program: parsing whose errors are one-line values, and printing that takes
// any bytes. Pure functions.
#ifndef HUNCH_SESSION_JSON_TEXT_H_
#define HUNCH_SESSION_JSON_TEXT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hunch {

using Json = nlohmann::ordered_json;

// kInvalidArgument with the place and the reason, also for what is nested deeper than 100 levels.
Result<Json> ParseJson(std::string_view text);
// The same, but anything else than an object is an error.
Result<Json> ParseJsonObject(std::string_view text);
// On one line; bytes that are not UTF-8 become U+FFFD.
std::string DumpJson(const Json& value);
// "a string", "a number", ... for messages.
std::string_view JsonKind(const Json& value);

}  // namespace hunch

#endif  // HUNCH_SESSION_JSON_TEXT_H_

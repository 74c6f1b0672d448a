#include "grammar/schema_keywords.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace hunch {
namespace {

using Json = nlohmann::json;
using std::string_view_literals::operator""sv;

// Of xgrammar 0.2.9. "uniqueItems": false asks for nothing.
constexpr std::array kPassedOver = {"not"sv,
                                    "if"sv,
                                    "then"sv,
                                    "else"sv,
                                    "dependentRequired"sv,
                                    "dependentSchemas"sv,
                                    "dependencies"sv,
                                    "uniqueItems"sv,
                                    "contains"sv,
                                    "minContains"sv,
                                    "maxContains"sv};
// Where one of these is, the first of them is all that counts...
constexpr std::array kAlone = {"$ref"sv, "anyOf"sv, "oneOf"sv, "allOf"sv};
// ...and these beside it would be passed over. A "type" may stand there: the parts have theirs.
constexpr std::array kBeside = {"anyOf"sv,
                                "oneOf"sv,
                                "allOf"sv,
                                "properties"sv,
                                "patternProperties"sv,
                                "additionalProperties"sv,
                                "propertyNames"sv,
                                "required"sv,
                                "minProperties"sv,
                                "maxProperties"sv,
                                "items"sv,
                                "prefixItems"sv,
                                "minItems"sv,
                                "maxItems"sv,
                                "minimum"sv,
                                "maximum"sv,
                                "exclusiveMinimum"sv,
                                "exclusiveMaximum"sv,
                                "multipleOf"sv,
                                "minLength"sv,
                                "maxLength"sv,
                                "pattern"sv};
constexpr std::array kMapsOfSchemas = {"properties"sv, "patternProperties"sv, "$defs"sv,
                                       "definitions"sv};
constexpr std::array kSchemas = {"items"sv,           "additionalProperties"sv,
                                 "propertyNames"sv,   "unevaluatedProperties"sv,
                                 "additionalItems"sv, "unevaluatedItems"sv};
constexpr std::array kListsOfSchemas = {"anyOf"sv, "oneOf"sv, "allOf"sv, "prefixItems"sv,
                                        "items"sv};

bool IsOneOf(const auto& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The first that `find` finds in one of the values of an array or object.
template <typename Find>
std::string InEach(const Json& values, const Find& find) {
  for (const Json& value : values) {
    if (std::string found = find(value); !found.empty()) return found;
  }
  return "";
}

}  // namespace

std::string PassedOverKeyword(const Json& schema) {
  if (!schema.is_object()) return "";
  const auto* const alone = std::find_if(
      kAlone.begin(), kAlone.end(), [&](std::string_view word) { return schema.contains(word); });
  for (const auto& [word, value] : schema.items()) {
    if (IsOneOf(kPassedOver, word) && value != false) return fmt::format("\"{}\"", word);
    if (alone != kAlone.end() && word != *alone && IsOneOf(kBeside, word)) {
      return fmt::format("\"{}\" beside \"{}\"", word, *alone);
    }
    std::string found;
    if ((IsOneOf(kMapsOfSchemas, word) && value.is_object()) ||
        (IsOneOf(kListsOfSchemas, word) && value.is_array())) {
      found = InEach(value, PassedOverKeyword);
    } else if (IsOneOf(kSchemas, word)) {
      found = PassedOverKeyword(value);
    }
    if (!found.empty()) return found;
  }
  return "";
}

std::string PassedOverKeywordInTag(const Json& tag) {
  if (tag.is_object()) {
    // The second one is of the older form, {"begin": ..., "schema": ..., "end": ...}.
    for (const std::string_view name : {"json_schema"sv, "schema"sv}) {
      if (const auto schema = tag.find(name); schema != tag.end()) {
        if (std::string found = PassedOverKeyword(*schema); !found.empty()) return found;
      }
    }
  }
  return tag.is_structured() ? InEach(tag, PassedOverKeywordInTag) : "";
}

}  // namespace hunch

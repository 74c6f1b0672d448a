#include "session/tagged_output.h"

#include <fmt/format.h>

#include <utility>

#include "base/utf8.h"
#include "grammar/limits.h"
#include "session/json_text.h"

namespace hunch {

namespace {

Json SchemaFormat(Json schema) {
  return {{"type", "json_schema"},
          {"json_schema", std::move(schema)},
          {"max_whitespace_cnt", kMostWhitespace}};
}

Json OneOf(Json elements) { return {{"type", "or"}, {"elements", std::move(elements)}}; }

// A structured output as a part of another.
Result<Json> FormatOf(const StructuredOutput& output) {
  using Kind = StructuredOutput::Kind;
  switch (output.kind) {
    case Kind::kJsonObject:
      return SchemaFormat({{"type", "object"}, {"additionalProperties", true}});
    case Kind::kRegex:
      return Json{{"type", "regex"}, {"pattern", output.text}};
    case Kind::kGrammar:
      return Json{{"type", "grammar"}, {"grammar", output.text}};
    default:
      break;
  }
  HUNCH_ASSIGN_OR_RETURN(Json json, ParseJson(output.text));
  if (output.kind == Kind::kJsonSchema) return SchemaFormat(std::move(json));
  if (output.kind == Kind::kStructuralTag) {
    if (json.contains("format")) return std::move(json["format"]);
    return Error{ErrorCode::kInvalidArgument, "the structural tag has no format"};
  }
  Json choices = Json::array();
  for (Json& choice : json) {
    choices.push_back({{"type", "const_string"}, {"value", std::move(choice)}});
  }
  return OneOf(std::move(choices));
}

}  // namespace

Result<StructuredOutput> TaggedOutput(std::span<const TaggedSchema> tags,
                                      const std::string& trigger, TagUse use,
                                      const StructuredOutput& otherwise) {
  if (tags.empty() || trigger.empty()) {
    return Error{ErrorCode::kInvalidArgument, "there is no tag, or nothing that begins one"};
  }
  Json list = Json::array();
  for (const TaggedSchema& tag : tags) {
    if (!tag.begin.starts_with(trigger)) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("the tag {} does not begin with {}",
                                                            Quote(tag.begin), Quote(trigger))};
    }
    HUNCH_ASSIGN_OR_RETURN(Json schema, ParseJson(tag.schema));
    list.push_back({{"type", "tag"},
                    {"begin", tag.begin},
                    {"content", SchemaFormat(std::move(schema))},
                    {"end", tag.end}});
  }
  Json format;
  if (use == TagUse::kInstead) {
    HUNCH_ASSIGN_OR_RETURN(Json text, FormatOf(otherwise));
    Json calls = {{"type", "tags_with_separator"},
                  {"tags", std::move(list)},
                  {"separator", "\n"},
                  {"at_least_one", true}};
    format = OneOf(Json::array({std::move(text), std::move(calls)}));
  } else {
    format = {{"type", "triggered_tags"},
              {"triggers", Json::array({trigger})},
              {"tags", std::move(list)},
              {"at_least_one", use != TagUse::kFree},
              {"stop_after_first", use == TagUse::kOne}};
  }
  const Json tag = {{"type", "structural_tag"}, {"format", format}};
  return StructuredOutput{StructuredOutput::Kind::kStructuralTag, DumpJson(tag)};
}

}  // namespace hunch

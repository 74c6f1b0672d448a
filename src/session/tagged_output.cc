#include "session/tagged_output.h"

#include <fmt/format.h>

#include <utility>

#include "base/utf8.h"
#include "session/json_text.h"

namespace hunch {

Result<StructuredOutput> TaggedOutput(std::span<const TaggedSchema> tags,
                                      const std::string& trigger, TagUse use) {
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
                    {"content", {{"type", "json_schema"}, {"json_schema", std::move(schema)}}},
                    {"end", tag.end}});
  }
  const Json format = {{"type", "triggered_tags"},
                       {"triggers", Json::array({trigger})},
                       {"tags", std::move(list)},
                       {"at_least_one", use != TagUse::kFree},
                       {"stop_after_first", use == TagUse::kOne}};
  const Json tag = {{"type", "structural_tag"}, {"format", format}};
  return StructuredOutput{StructuredOutput::Kind::kStructuralTag, DumpJson(tag)};
}

}  // namespace hunch

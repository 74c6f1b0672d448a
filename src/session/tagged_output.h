// Structured output for text that is constrained in parts: JSON of a schema between two literals.
// Pure functions.
#ifndef HUNCH_SESSION_TAGGED_OUTPUT_H_
#define HUNCH_SESSION_TAGGED_OUTPUT_H_

#include <span>
#include <string>

#include "base/result.h"
#include "hunch/structured_output.h"

namespace hunch {

struct TaggedSchema {
  std::string begin;   // "<tool_call>\n{\"name\": \"f\", \"arguments\": "
  std::string schema;  // JSON schema of what stands between
  std::string end;     // "}\n</tool_call>"
};

enum class TagUse {
  kFree,      // any text, in which a tag is whole from its trigger on (tool_choice "auto")
  kInstead,   // tags, one to a line, or else what the text must look like without any
  kOne,       // one tag and nothing else (parallel_tool_calls off, tool_choice "required")
  kOneOrMore  // as kFree, but the first tag comes first of all (tool_choice "required")
};

// trigger: what every tag begins with, and what text outside of tags has not ("<tool_call>"). An
// error: a schema is no JSON, a tag does not begin with the trigger, or there is none. `otherwise`:
// for kInstead, what the text must look like.
Result<StructuredOutput> TaggedOutput(std::span<const TaggedSchema> tags,
                                      const std::string& trigger, TagUse use,
                                      const StructuredOutput& otherwise = {});

}  // namespace hunch

#endif  // HUNCH_SESSION_TAGGED_OUTPUT_H_

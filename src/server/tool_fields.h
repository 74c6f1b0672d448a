// The tools of a chat request: the functions that the model may call, from JSON to types. Pure
// functions.
#ifndef HUNCH_SERVER_TOOL_FIELDS_H_
#define HUNCH_SERVER_TOOL_FIELDS_H_

#include <string>
#include <vector>

#include "chat/tool_call_parser.h"
#include "server/fields.h"

namespace hunch {

struct ToolFields {
  static constexpr size_t kMostTools = 128;  // OpenAI's

  enum class Choice { kNone, kAuto, kRequired, kNamed };

  Json tools;                      // for the template; null: none
  std::vector<std::string> names;  // theirs
  Choice choice = Choice::kAuto;
  std::string named;  // by kNamed
  bool parallel = true;

  bool MayCall() const { return !names.empty() && choice != Choice::kNone; }
  ToolCallOptions ParserOptions() const;
  // What the answer is made to begin with, so that it is a call: "" unless one must come. The seam
  // for a grammar, which could do the same and hold the arguments to their schema as well.
  std::string AnswerStart() const;
  // What ends the answer beside the request's own stops: the first call's end, if one is enough.
  std::vector<std::string> Stops() const;
};

// `tools`, `tool_choice` and `parallel_tool_calls`.
void ReadToolFields(Fields& fields, ToolFields& out);
// `tools` alone.
void ReadTools(Fields& fields, ToolFields& out);

// What messages, which have known roles, say of calls: those of assistants, and tools' results.
void CheckToolMessages(Fields& fields, const Json& messages);

}  // namespace hunch

#endif  // HUNCH_SERVER_TOOL_FIELDS_H_

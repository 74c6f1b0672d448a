// The tools of a chat request: the functions that the model may call, from JSON to types. Pure
// functions.
#ifndef HUNCH_SERVER_TOOL_FIELDS_H_
#define HUNCH_SERVER_TOOL_FIELDS_H_

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "chat/tool_call_parser.h"
#include "hunch/structured_output.h"
#include "server/fields.h"

namespace hunch {

using OutputPtr = std::shared_ptr<const StructuredOutput>;

struct ToolFields {
  static constexpr size_t kMostTools = 128;  // OpenAI's

  enum class Choice { kNone, kAuto, kRequired, kNamed };

  Json tools;                      // for the template; null: none
  std::vector<std::string> names;  // theirs
  // [names] JSON schemas that the arguments are held to; "": none, since the tool is not strict.
  std::vector<std::string> schemas;
  Choice choice = Choice::kAuto;
  std::string named;  // by kNamed
  bool parallel = true;

  bool MayCall() const { return !names.empty() && choice != Choice::kNone; }
  bool MustCall() const { return choice == Choice::kRequired || choice == Choice::kNamed; }
  bool one_call() const { return MayCall() && (!parallel || choice == Choice::kNamed); }
  bool strict() const;  // a tool is
  ToolCallOptions ParserOptions() const;
  // What the answer is made to begin with, so that it is a call: "" unless one must come, or where
  // Output sees to it.
  std::string AnswerStart() const;
  // What the answer must look like: as `asked` says (null: any text), or calls whose arguments are
  // held to their schemas. Errors: those of TaggedOutput.
  Result<OutputPtr> Output(const OutputPtr& asked) const;
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

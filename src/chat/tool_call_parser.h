// ToolCallParser: finds the calls of tools in what a model says, as it says it. The form is that of
// Hermes and Qwen: <tool_call>{"name": ..., "arguments": {...}}</tool_call>, with text around it.
// Not thread safe.
//
// Pieces are given out as soon as they are certain, and do not depend on how the text was cut. What
// turns out to be no call, up to the beginning of its arguments, is content as it was written.
// Arguments that stop being JSON half-way were given out already: they go on as the model writes
// them, to the closing tag. White space around a call is no content. Models that were not taught
// the tags write {"name": ..., "arguments": {...}} in a fence of Markdown, or at the answer's
// beginning without anything: that is a call too, given out whole, if the name is a tool's.
#ifndef HUNCH_CHAT_TOOL_CALL_PARSER_H_
#define HUNCH_CHAT_TOOL_CALL_PARSER_H_

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/tool_call_body.h"

namespace hunch {

struct ToolCallPiece {
  enum class Kind { kContent, kName, kArguments };
  Kind kind;
  int call;  // from 0; of content: the calls before it
  std::string text;
  bool operator==(const ToolCallPiece&) const = default;
};

struct ToolCallOptions {
  std::vector<std::string> names = {};  // of the tools
  int most_calls = std::numeric_limits<int>::max();
  // What else a call without the tags must be to be one; empty: nothing else.
  std::function<bool(std::string_view name, std::string_view arguments)> untagged = {};
};

class ToolCallParser {
 public:
  static constexpr std::string_view kOpener = "<tool_call>", kCloser = "</tool_call>";

  explicit ToolCallParser(ToolCallOptions options) : options_(std::move(options)) {}

  // Neighbours among the pieces differ in kind or call; a call begins with one kName.
  std::vector<ToolCallPiece> Push(std::string_view text);
  // The text is over: what was held back.
  std::vector<ToolCallPiece> Finish();

  int calls() const { return calls_; }
  // The text ended inside a call. Known after Finish.
  bool cut() const { return cut_; }

 private:
  enum class Mode {
    kContent,
    kBody,       // in a call's object
    kBroken,     // in arguments that are no JSON any more
    kAfterBody,  // before what closes the call
  };

  // Each reads from the beginning of `text` and returns what it left for another mode.
  std::string_view InContent(std::string_view text);
  std::string_view InBody(std::string_view text);
  std::string_view InBroken(std::string_view text);
  std::string_view AfterBody(std::string_view text);

  bool GrowsOpener(char byte) const;
  void BeginBody(std::string_view closer);
  bool tagged() const { return closer_ == kCloser; }
  bool ReadyToBegin() const;
  void BeginCall();
  void EndBody();
  void Reject();
  void GiveHeld();
  void Add(ToolCallPiece::Kind kind, std::string_view text);

  const ToolCallOptions options_;
  Mode mode_ = Mode::kContent;
  std::vector<ToolCallPiece> pieces_;
  int calls_ = 0;
  bool cut_ = false;
  std::string spaces_;       // in content, not given out: a call may follow
  std::string held_;         // after them, or elsewhere: the beginning of what opens or closes
  bool may_be_bare_ = true;  // nothing was said but white space and bare calls

  // Of the call at hand.
  std::optional<ToolCallBody> body_;
  std::string_view closer_;  // "": the call is bare
  bool begun_ = false;       // its name was given out
  std::string raw_;          // as written, until it has begun
};

}  // namespace hunch

#endif  // HUNCH_CHAT_TOOL_CALL_PARSER_H_

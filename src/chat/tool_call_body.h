// ToolCallBody: one call of a tool as a model writes it, {"name": ..., "arguments": {...}}, read a
// byte at a time. Private to tool-call parsing. Not thread safe.
//
// What models do is taken: the keys in any order, "parameters" for "arguments", other keys beside
// them, arguments that are null, missing, or an object in a string.
#ifndef HUNCH_CHAT_TOOL_CALL_BODY_H_
#define HUNCH_CHAT_TOOL_CALL_BODY_H_

#include <string>

#include "chat/object_scanner.h"

namespace hunch {

class ToolCallBody {
 public:
  // `strict`: no other keys.
  explicit ToolCallBody(bool strict) : strict_(strict) {}

  // False: this is no call, or (when its arguments are over) not any more.
  bool Put(char byte);

  bool over() const { return scanner_.over(); }
  // It is a call, whatever comes: the name is known and the arguments have begun.
  bool is_call() const { return !name_.empty() && arguments_begun_; }
  const std::string& name() const { return name_; }  // "": not known yet
  // Of the arguments as JSON text, what came since this was asked last.
  std::string TakeArguments();
  const std::string& arguments() const { return arguments_; }  // those
  bool arguments_over() const { return arguments_over_; }

 private:
  enum class Part { kKey, kName, kArguments, kArgumentsText, kNoArguments, kOther };

  bool BeginValue(char byte);
  bool EndValue();
  bool EndObject();
  bool SetArguments(std::string text);

  const bool strict_;
  ObjectScanner scanner_;
  Part part_ = Part::kOther;  // being read, or read last
  std::string text_;          // of the part, as JSON
  std::string key_;
  std::string name_;
  std::string arguments_;  // not taken yet
  bool arguments_begun_ = false, arguments_over_ = false;
};

}  // namespace hunch

#endif  // HUNCH_CHAT_TOOL_CALL_BODY_H_

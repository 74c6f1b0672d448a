#include "chat/chat_template.h"

#include <fmt/format.h>

#include <utility>

#include "chat/ast.h"
#include "chat/globals.h"
#include "chat/interpreter.h"
#include "chat/json_values.h"
#include "chat/parser.h"
#include "chat/runtime.h"

namespace hunch {
namespace {

// A template is a few kilobytes; the largest known has 30.
constexpr size_t kMaxTemplateBytes = size_t{4} << 20;

std::vector<RenderedPiece> CutIntoPieces(const chat::Text& text) {
  std::vector<RenderedPiece> pieces;
  size_t begin = 0;
  for (const auto& run : text.runs()) {
    pieces.push_back({text.bytes().substr(begin, run.end - begin), !run.from_request});
    begin = run.end;
  }
  return pieces;
}

class ParsedTemplate : public ChatTemplate {
 public:
  explicit ParsedTemplate(chat::Program program) : program_(std::move(program)) {}

  Result<std::vector<RenderedPiece>> Render(const ChatInputs& inputs) const override {
    chat::Runtime runtime(inputs.now_unix_seconds);
    chat::Interpreter interpreter(program_, runtime);
    SetGlobals(inputs, &runtime, &interpreter);
    if (runtime.failed()) return runtime.error();
    const chat::Text text = interpreter.Run();
    if (runtime.failed()) return runtime.error();
    return CutIntoPieces(text);
  }

 private:
  static void SetGlobals(const ChatInputs& inputs, chat::Runtime* runtime,
                         chat::Interpreter* interpreter) {
    using chat::Value;
    for (const auto& [name, function] : chat::GlobalFunctions()) {
      auto callable = std::make_shared<chat::Callable>();
      callable->name = name;
      callable->builtin = function;
      interpreter->SetGlobal(name, Value(std::shared_ptr<const chat::Callable>(callable)));
    }
    interpreter->SetGlobal("messages", chat::MessagesFromJson(*runtime, inputs.messages));
    interpreter->SetGlobal("tools", chat::FromJson(*runtime, inputs.tools));
    interpreter->SetGlobal("documents", Value::None());
    interpreter->SetGlobal("add_generation_prompt", Value::Bool(inputs.add_generation_prompt));
    interpreter->SetGlobal("bos_token", Value::TemplateString(inputs.bos_token));
    interpreter->SetGlobal("eos_token", Value::TemplateString(inputs.eos_token));
    if (!inputs.extra.is_object()) return;
    for (const auto& [name, value] : inputs.extra.items()) {
      interpreter->SetGlobal(name, chat::FromJson(*runtime, value));
    }
  }

  const chat::Program program_;
};

}  // namespace

Result<std::unique_ptr<ChatTemplate>> ChatTemplate::Parse(std::string_view source) {
  if (source.size() > kMaxTemplateBytes) {
    return Error{ErrorCode::kBadFile,
                 fmt::format("the chat template has {} bytes; at most {} are accepted",
                             source.size(), kMaxTemplateBytes)};
  }
  HUNCH_ASSIGN_OR_RETURN(chat::Program program, chat::ParseTemplate(source));
  return std::unique_ptr<ChatTemplate>(std::make_unique<ParsedTemplate>(std::move(program)));
}

std::string JoinPieces(const std::vector<RenderedPiece>& pieces) {
  std::string text;
  for (const RenderedPiece& piece : pieces) text += piece.text;
  return text;
}

}  // namespace hunch

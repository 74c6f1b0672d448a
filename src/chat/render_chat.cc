#include "chat/render_chat.h"

#include <string>
#include <utility>

#include "chat/messages.h"
#include "chat/object_scanner.h"

namespace hunch {
namespace {

using Json = nlohmann::ordered_json;

// Calls `visit` with the arguments of each tool call in `messages`.
template <typename Visit>
void ForEachArguments(Json& messages, const Visit& visit) {
  for (Json& message : messages) {
    const auto calls = message.find("tool_calls");
    if (calls == message.end() || !calls->is_array()) continue;
    for (Json& call : *calls) {
      if (!call.is_object()) continue;
      const auto function = call.find("function");
      Json& of = function != call.end() && function->is_object() ? *function : call;
      if (const auto arguments = of.find("arguments"); arguments != of.end()) visit(*arguments);
    }
  }
}

void MakeObject(Json& arguments) {
  if (!arguments.is_string()) return;
  const auto text = arguments.get<std::string>();
  if (IsJsonObject(text)) arguments = Json::parse(text);
}

void MakeText(Json& arguments) {
  if (arguments.is_object()) {
    arguments = arguments.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
}

// With the arguments in the form that the template can print.
Result<std::vector<RenderedPiece>> RenderCalls(const ChatTemplate& chat_template,
                                               const ChatInputs& inputs) {
  ChatInputs objects = inputs;
  int calls = 0;
  ForEachArguments(objects.messages, [&](Json& arguments) {
    MakeObject(arguments);
    ++calls;
  });
  auto rendered = chat_template.Render(objects);
  if (rendered.ok() || calls == 0) return rendered;
  ChatInputs texts = inputs;
  ForEachArguments(texts.messages, MakeText);
  auto again = chat_template.Render(texts);
  return again.ok() ? std::move(again) : std::move(rendered);
}

}  // namespace

Result<std::vector<RenderedPiece>> RenderChat(const ChatTemplate& chat_template, ChatInputs inputs,
                                              std::string_view answer_start) {
  HUNCH_ASSIGN_OR_RETURN(inputs.messages, NormalizeMessages(inputs.messages));
  if (inputs.tools.empty()) inputs.tools = nullptr;
  HUNCH_ASSIGN_OR_RETURN(auto pieces, RenderCalls(chat_template, inputs));
  if (!inputs.tools.is_null()) {
    inputs.tools = nullptr;
    const auto without = RenderCalls(chat_template, inputs);
    if (without.ok() && JoinPieces(*without) == JoinPieces(pieces)) {
      return Error{ErrorCode::kUnsupported,
                   "tools have no place in the model's chat template: leave them out, or describe "
                   "them in a message"};
    }
  }
  if (!answer_start.empty()) pieces.push_back({std::string(answer_start), true});
  return pieces;
}

}  // namespace hunch

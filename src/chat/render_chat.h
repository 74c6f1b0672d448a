// Renders a chat as a model's template wants it: templates differ in what they take, and requests
// in what they send. Pure function.
#ifndef HUNCH_CHAT_RENDER_CHAT_H_
#define HUNCH_CHAT_RENDER_CHAT_H_

#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/chat_template.h"

namespace hunch {

// The messages are made uniform (messages.h). The arguments of tool calls, which the API has as
// text, become objects, or stay text for a template that fails on objects. `answer_start` goes
// after all, as the template's own text.
// Errors: those of NormalizeMessages and of the template; kUnsupported for tools of which the
// template prints nothing.
Result<std::vector<RenderedPiece>> RenderChat(const ChatTemplate& chat_template, ChatInputs inputs,
                                              std::string_view answer_start);

}  // namespace hunch

#endif  // HUNCH_CHAT_RENDER_CHAT_H_

// Turns what a request holds into values of the template language.
#ifndef HUNCH_CHAT_JSON_VALUES_H_
#define HUNCH_CHAT_JSON_VALUES_H_

#include <nlohmann/json.hpp>

#include "chat/runtime.h"
#include "chat/value.h"

namespace hunch::chat {

// Everything in it counts as text of the request. Fails for numbers beyond 64 bits and for too deep
// nesting.
Value FromJson(Runtime& runtime, const nlohmann::ordered_json& json);
// The same for the array of messages, except that the roles that the chat API knows count as the
// template's own: templates build markers such as "<|" + role + "|>" from them, and these words can
// name nothing else.
Value MessagesFromJson(Runtime& runtime, const nlohmann::ordered_json& messages);

}  // namespace hunch::chat

#endif  // HUNCH_CHAT_JSON_VALUES_H_

// The messages of a chat request, made uniform before a template sees them. Pure function.
#ifndef HUNCH_CHAT_MESSAGES_H_
#define HUNCH_CHAT_MESSAGES_H_

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace hunch {

// Returns the messages with every `content` a string: missing and null become "", text parts are
// joined in order. Missing or null content is for assistant messages with tool calls only. Anything
// else is kInvalidArgument, naming messages[i]. All other fields stay as they are.
Result<nlohmann::ordered_json> NormalizeMessages(const nlohmann::ordered_json& messages);

}  // namespace hunch

#endif  // HUNCH_CHAT_MESSAGES_H_

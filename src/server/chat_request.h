// POST /v1/chat/completions: from JSON to a typed request. Pure functions.
#ifndef HUNCH_SERVER_CHAT_REQUEST_H_
#define HUNCH_SERVER_CHAT_REQUEST_H_

#include <optional>

#include "server/generation_fields.h"
#include "server/tool_fields.h"

namespace hunch {

struct ChatRequest {
  GenerationFields common;
  Json messages;  // [{"role", "content"}, ...] with known roles; for Llm::EncodeChat
  ToolFields tools;
  bool logprobs = false;
  int top_logprobs = 0;
};

// The first thing that is wrong, or nothing.
std::optional<ApiError> ReadChatRequest(const Json& body, ChatRequest& out);

// The array `value` as messages that templates know: `developer` becomes `system`. Also for
// /tokenize.
void ReadMessages(Fields& fields, const Json& value, Json& out);

}  // namespace hunch

#endif  // HUNCH_SERVER_CHAT_REQUEST_H_

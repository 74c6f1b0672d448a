#include "server/chat_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "chat/messages.h"

namespace hunch {
namespace {

constexpr std::array<std::string_view, 5> kRoles = {"system", "developer", "user", "assistant",
                                                    "tool"};

void ReadLogprobs(Fields& fields, ChatRequest& out) {
  fields.Bool("logprobs", out.logprobs);
  const bool given = fields.Any("top_logprobs") != nullptr;
  fields.Integer("top_logprobs", 0, GenerationFields::kMostTopLogprobs, out.top_logprobs);
  if (given && !out.logprobs) {
    fields.Fail("top_logprobs", "'top_logprobs' needs \"logprobs\": true");
  }
  if (out.logprobs) out.common.sampling.logprobs = out.top_logprobs;
}

}  // namespace

void ReadMessages(Fields& fields, const Json& value, Json& out) {
  if (!value.is_array() || value.empty()) {
    return fields.Fail("messages", "'messages' must be an array of at least one message");
  }
  out = value;
  for (size_t i = 0; i < out.size(); ++i) {
    if (!out[i].is_object() || !out[i].contains("role") || !out[i]["role"].is_string()) continue;
    const auto role = out[i]["role"].get<std::string>();
    if (std::find(kRoles.begin(), kRoles.end(), role) == kRoles.end()) {
      return fields.Fail(
          fmt::format("messages[{}].role", i),
          fmt::format("messages[{}].role is {}: it must be system, developer, user, assistant or "
                      "tool",
                      i, Quote(role)));
    }
    if (role == "developer") out[i]["role"] = "system";
  }
  Result<Json> normalized = NormalizeMessages(out);
  if (!normalized.ok()) {
    const std::string& message = normalized.error().message;
    return fields.Fail(message.substr(0, message.find(' ')), message);
  }
  out = std::move(*normalized);
  CheckToolMessages(fields, out);
}

std::optional<ApiError> ReadChatRequest(const Json& body, ChatRequest& out) {
  Fields fields(body);
  if (const Json* messages = fields.Any("messages")) {
    ReadMessages(fields, *messages, out.messages);
  } else {
    fields.Fail("messages", "'messages' is missing: give an array of messages");
  }
  ReadGenerationFields(fields, out.common);
  ReadLogprobs(fields, out);
  ReadToolFields(fields, out.tools);
  for (const std::string& stop : out.tools.Stops()) out.common.sampling.stop.push_back(stop);
  if (out.common.sampling.structured_output != nullptr && out.tools.MustCall()) {
    // The answer cannot be both.
    fields.Fail("tool_choice", fmt::format("'tool_choice' asks for a call and '{}' for another "
                                           "form of the answer: leave one of them out",
                                           out.common.output_field));
  }
  fields.Unsupported("functions", "use 'tools'");
  fields.Unsupported("function_call", "use 'tool_choice'");
  fields.Unsupported("audio", "text only");
  fields.Ignore("modalities");
  fields.Ignore("reasoning_effort");
  fields.Ignore("verbosity");
  return fields.Finish();
}

}  // namespace hunch

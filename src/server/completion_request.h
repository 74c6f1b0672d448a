// POST /v1/completions, /tokenize and /detokenize: from JSON to typed requests. Pure functions.
#ifndef HUNCH_SERVER_COMPLETION_REQUEST_H_
#define HUNCH_SERVER_COMPLETION_REQUEST_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "server/generation_fields.h"
#include "server/tool_fields.h"

namespace hunch {

using PromptText = std::variant<std::string, std::vector<TokenId>>;

struct CompletionRequest {
  static constexpr int kDefaultMaxTokens = 16;  // OpenAI's
  static constexpr size_t kMostPrompts = 64;

  GenerationFields common;
  std::vector<PromptText> prompts;  // at least one
  bool echo = false;
  int logprobs = -1;  // -1: none
};
std::optional<ApiError> ReadCompletionRequest(const Json& body, CompletionRequest& out);

struct TokenizeRequest {
  std::string model;
  std::optional<std::string> prompt;  // or else
  Json messages;                      // a chat, by the template
  ToolFields tools;                   // the chat's
  bool add_special_tokens = true;
  bool return_token_strs = false;
};
std::optional<ApiError> ReadTokenizeRequest(const Json& body, TokenizeRequest& out);

struct DetokenizeRequest {
  std::string model;
  std::vector<TokenId> tokens;
};
std::optional<ApiError> ReadDetokenizeRequest(const Json& body, DetokenizeRequest& out);

}  // namespace hunch

#endif  // HUNCH_SERVER_COMPLETION_REQUEST_H_

#include "server/completion_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "server/chat_request.h"

namespace hunch {
namespace {

constexpr std::string_view kPromptForms =
    "'prompt' must be a string, an array of strings, an array of token ids, or an array of those";

// One prompt, in either form; nullopt: neither.
std::optional<PromptText> OnePrompt(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  Json object = {{"tokens", value}};
  Fields fields(object);
  std::vector<TokenId> tokens;
  fields.Tokens("tokens", tokens);
  if (fields.error()) return std::nullopt;
  return tokens;
}

void ReadPrompts(Fields& fields, std::vector<PromptText>& out) {
  const Json* value = fields.Any("prompt");
  if (value == nullptr) return fields.Fail("prompt", "'prompt' is missing");
  const bool many = value->is_array() && !value->empty() && !value->front().is_number();
  if (!many) {
    std::optional<PromptText> prompt = OnePrompt(*value);
    if (!prompt) return fields.Fail("prompt", std::string(kPromptForms));
    out.push_back(std::move(*prompt));
    return;
  }
  if (value->size() > CompletionRequest::kMostPrompts) {
    return fields.Fail("prompt", fmt::format("'prompt' has {} prompts: at most {} are allowed",
                                             value->size(), CompletionRequest::kMostPrompts));
  }
  for (const Json& one : *value) {
    std::optional<PromptText> prompt = OnePrompt(one);
    if (!prompt) return fields.Fail("prompt", std::string(kPromptForms));
    out.push_back(std::move(*prompt));
  }
}

}  // namespace

std::optional<ApiError> ReadCompletionRequest(const Json& body, CompletionRequest& out) {
  Fields fields(body);
  ReadPrompts(fields, out.prompts);
  ReadGenerationFields(fields, out.common);
  if (out.common.sampling.max_tokens < 0) {
    out.common.sampling.max_tokens = CompletionRequest::kDefaultMaxTokens;
  }
  fields.Bool("echo", out.echo);
  fields.Integer("logprobs", 0, GenerationFields::kMostTopLogprobs, out.logprobs);
  out.common.sampling.logprobs = out.logprobs;
  if (out.echo) out.common.sampling.prompt_logprobs = out.logprobs;
  int best_of = out.common.n;
  fields.Integer("best_of", 1, GenerationFields::kMostChoices, best_of);
  if (best_of != out.common.n) {
    fields.Fail("best_of", "'best_of' is not supported, but the value of 'n'");
  }
  fields.Unsupported("suffix", "text is only written after the prompt");
  return fields.Finish();
}

std::optional<ApiError> ReadTokenizeRequest(const Json& body, TokenizeRequest& out) {
  Fields fields(body);
  fields.Text("model", out.model);
  std::string prompt;
  fields.Text("prompt", prompt);
  if (fields.Any("prompt") != nullptr) out.prompt = std::move(prompt);
  const Json* messages = fields.Any("messages");
  if (messages != nullptr) {
    ReadMessages(fields, *messages, out.messages);
    ReadTools(fields, out.tools);
  }
  if (out.prompt.has_value() == (messages != nullptr)) {
    fields.Fail("prompt", "give 'prompt' or 'messages', one of them");
  }
  fields.Bool("add_special_tokens", out.add_special_tokens);
  fields.Bool("return_token_strs", out.return_token_strs);
  fields.Ignore("add_generation_prompt");
  return fields.Finish();
}

std::optional<ApiError> ReadDetokenizeRequest(const Json& body, DetokenizeRequest& out) {
  Fields fields(body);
  fields.Text("model", out.model);
  if (fields.Any("tokens") == nullptr) fields.Fail("tokens", "'tokens' is missing");
  fields.Tokens("tokens", out.tokens);
  return fields.Finish();
}

}  // namespace hunch

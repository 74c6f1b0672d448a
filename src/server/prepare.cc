#include "server/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "base/utf8.h"
#include "server/answer_id.h"
#include "server/json_body.h"

namespace hunch {
namespace {

HttpResponse Answered(const Json& json) { return {.body = DumpJson(json)}; }

HttpResponse Bad(const Error& error) { return ErrorResponse({.message = error.message}); }

ApiError BadEventId(std::string_view what) {
  return {.message = fmt::format("'Last-Event-ID' {}", what), .param = "Last-Event-ID"};
}

}  // namespace

std::optional<ApiError> CheckModel(const std::vector<std::string>& names, const std::string& name) {
  if (name.empty() || std::find(names.begin(), names.end(), name) != names.end()) return {};
  return ApiError{.status = 404,
                  .message = fmt::format("the model {} does not exist: use {}", Quote(name),
                                         fmt::join(names, " or ")),
                  .param = "model",
                  .code = "model_not_found"};
}

std::optional<ApiError> Preparer::CheckModelAndRoom(const GenerationFields& common,
                                                    size_t prompts) const {
  if (auto error = CheckModel(options_.model_names, common.model)) return error;
  const size_t sequences = prompts * static_cast<size_t>(common.n);
  if (sequences <= static_cast<size_t>(llm_.room())) return {};
  return ApiError{.message = fmt::format("{} sequences are asked for at once, and at most {} fit: "
                                         "ask for fewer",
                                         sequences, llm_.room()),
                  .param = "n"};
}

std::optional<ApiError> Preparer::CheckOutput(const GenerationFields& common) const {
  if (common.sampling.structured_output == nullptr) return {};
  const Status known = llm_.llm().CheckStructuredOutput(*common.sampling.structured_output);
  if (known.ok()) return {};
  ApiError error = ApiErrorOf(known.error(), common.output_field);
  error.message = fmt::format("'{}': {}", common.output_field, error.message);
  return error;
}

std::optional<ApiError> Preparer::AddCallsToOutput(ChatRequest& chat) const {
  if (auto error = CheckOutput(chat.common)) return error;
  const ToolFields& tools = chat.tools;
  for (size_t i = 0; i < tools.schemas.size(); ++i) {
    if (tools.schemas[i].empty()) continue;
    const Status known =
        llm_.llm().CheckStructuredOutput({StructuredOutput::Kind::kJsonSchema, tools.schemas[i]});
    if (known.ok()) continue;
    return ApiErrorOf(known.error(), fmt::format("tools[{}].function.parameters", i));
  }
  Result<OutputPtr> output = tools.Output(chat.common.sampling.structured_output);
  if (!output.ok()) return ApiErrorOf(output.error(), "tools");
  if (*output == chat.common.sampling.structured_output) return {};
  chat.common.sampling.structured_output = std::move(*output);
  chat.common.output_field = "tools";
  return CheckOutput(chat.common);
}

ToolCallOptions Preparer::ParserOptions(const ToolFields& tools, bool has_form) const {
  ToolCallOptions options = tools.ParserOptions();
  if (has_form) {
    options.untagged = [](std::string_view, std::string_view) { return false; };
  } else if (tools.strict()) {
    options.untagged = [&llm = llm_.llm(), names = tools.names, schemas = tools.schemas](
                           std::string_view name, std::string_view arguments) {
      const auto at = std::find(names.begin(), names.end(), name) - names.begin();
      const std::string& schema = schemas[static_cast<size_t>(at)];
      return schema.empty() || llm.Obeys({StructuredOutput::Kind::kJsonSchema, schema}, arguments);
    };
  }
  return options;
}

std::optional<ApiError> Preparer::NameAnswer(std::string_view prefix, const HttpRequest& request,
                                             const Json& body, const GenerationFields& common,
                                             size_t choices, AnswerHead& head,
                                             AnswerOptions& options) {
  const auto draw = [this] { return uint64_t{random_()} << 32 | random_(); };
  // A seed that was drawn is read back by programs whose numbers are doubles.
  const uint64_t drawn = draw() >> 11;
  AnswerId id = {.created = static_cast<uint32_t>(std::time(nullptr)),
                 .seed = common.seed.value_or(drawn),
                 .request = RequestHash(options_.fingerprint, body),
                 .salt = static_cast<uint32_t>(draw())};
  options = {.n = common.n,
             .stream = common.stream,
             .include_usage = common.include_usage,
             .event_ids = common.CanResume() && choices <= EventId::kMostChoices};
  if (!request.last_event_id.empty()) {
    if (!options.event_ids) return BadEventId("needs a request whose stream can be resumed");
    std::optional<EventId> last = ParseEventId(prefix, request.last_event_id);
    if (!last) return BadEventId("is no id of this path's events");
    const bool same = last->answer.request == id.request && last->sent.size() == choices &&
                      last->answer.seed == common.seed.value_or(last->answer.seed);
    if (!same) {
      return BadEventId(
          "belongs to another request or another model: send the request whose "
          "stream broke, as it was");
    }
    id = last->answer;
    options.sent = std::move(last->sent);
  }
  head = {.id = AnswerIdText(prefix, id),
          .created = id.created,
          .model = common.model.empty() ? options_.model_names.front() : common.model,
          .fingerprint = options_.fingerprint,
          .seed = id.seed};
  return std::nullopt;
}

Status Preparer::AddChoices(const std::vector<TokenId>& prompt, const GenerationFields& common,
                            const std::string& id, uint64_t seed,
                            std::vector<TextRequest>& out) const {
  TextRequest request = {
      prompt, common.sampling,
      common.SpeculationOver(llm_.swapped_speculation().value_or(options_.speculation))};
  request.own_speculation = common.speculation.any();
  request.id = id;
  request.params.seed = seed;
  request.trace_steps = common.stream && common.speculation.trace;
  HUNCH_RETURN_IF_ERROR(llm_.llm().Check(request));
  for (int choice = 0; choice < common.n; ++choice) {
    request.params.choice = static_cast<uint32_t>(choice);
    out.push_back(request);
  }
  return Ok{};
}

Prepared Preparer::Chat(const HttpRequest& request) {
  const Result<Json> json = ParseBody(request.body);
  if (!json.ok()) return Bad(json.error());
  ChatRequest chat;
  if (const auto error = ReadChatRequest(*json, chat)) return ErrorResponse(*error);
  if (const auto error = CheckModelAndRoom(chat.common, 1)) return ErrorResponse(*error);
  const bool has_form = chat.common.sampling.structured_output != nullptr;
  if (const auto error = AddCallsToOutput(chat)) return ErrorResponse(*error);
  PreparedAnswer answer;
  AnswerHead head;
  if (const auto error = NameAnswer("chatcmpl", request, *json, chat.common,
                                    static_cast<size_t>(chat.common.n), head, answer.options)) {
    return ErrorResponse(*error);
  }
  const ToolFields& tools = chat.tools;
  const Result<std::vector<TokenId>> prompt =
      llm_.llm().EncodeChatTurn(chat.messages, {tools.tools, tools.AnswerStart(), head.created});
  if (!prompt.ok()) return ErrorResponse(ApiErrorOf(prompt.error(), "messages"));
  const Status added = AddChoices(*prompt, chat.common, head.id, head.seed, answer.requests);
  if (!added.ok()) return ErrorResponse(ApiErrorOf(added.error(), "messages"));
  std::optional<AnswerTools> calls;
  if (tools.MayCall()) {
    calls = AnswerTools{ParserOptions(tools, has_form), tools.AnswerStart()};
  }
  answer.format =
      MakeChatFormat(std::move(head), llm_.llm().tokenizer(), chat.logprobs, std::move(calls));
  return answer;
}

Result<std::vector<TokenId>> Preparer::EncodePrompt(const PromptText& prompt) const {
  if (const auto* text = std::get_if<std::string>(&prompt)) return llm_.llm().EncodeRaw(*text);
  return std::get<std::vector<TokenId>>(prompt);
}

Prepared Preparer::Completions(const HttpRequest& request) {
  const Result<Json> json = ParseBody(request.body);
  if (!json.ok()) return Bad(json.error());
  CompletionRequest completion;
  if (const auto error = ReadCompletionRequest(*json, completion)) return ErrorResponse(*error);
  const GenerationFields& common = completion.common;
  if (const auto error = CheckModelAndRoom(common, completion.prompts.size())) {
    return ErrorResponse(*error);
  }
  if (const auto error = CheckOutput(common)) return ErrorResponse(*error);
  const size_t choices = completion.prompts.size() * static_cast<size_t>(common.n);
  const Tokenizer& tokenizer = llm_.llm().tokenizer();
  PreparedAnswer answer;
  AnswerHead head;
  if (const auto error =
          NameAnswer("cmpl", request, *json, common, choices, head, answer.options)) {
    return ErrorResponse(*error);
  }
  std::vector<std::string> echoes;
  for (const PromptText& text : completion.prompts) {
    const Result<std::vector<TokenId>> prompt = EncodePrompt(text);
    if (!prompt.ok()) return ErrorResponse(ApiErrorOf(prompt.error(), "prompt"));
    const Status added = AddChoices(*prompt, common, head.id, head.seed, answer.requests);
    if (!added.ok()) return ErrorResponse(ApiErrorOf(added.error(), "prompt"));
    if (!completion.echo) continue;
    // With logprobs it is the text of the very tokens that have them, the one before all included.
    const auto* words = completion.logprobs < 0 ? std::get_if<std::string>(&text) : nullptr;
    echoes.resize(answer.requests.size(), words ? *words : DecodeTokens(tokenizer, *prompt));
  }
  answer.format =
      MakeCompletionFormat(std::move(head), tokenizer, completion.logprobs >= 0, std::move(echoes));
  return answer;
}

Prepared Preparer::Tokenize(const HttpRequest& request) {
  const Result<Json> json = ParseBody(request.body);
  if (!json.ok()) return Bad(json.error());
  TokenizeRequest wanted;
  if (const auto error = ReadTokenizeRequest(*json, wanted)) return ErrorResponse(*error);
  if (const auto error = CheckModel(options_.model_names, wanted.model)) {
    return ErrorResponse(*error);
  }
  const Llm& llm = llm_.llm();
  const Result<std::vector<TokenId>> tokens = [&]() -> Result<std::vector<TokenId>> {
    if (!wanted.prompt) return llm.EncodeChatTurn(wanted.messages, {.tools = wanted.tools.tools});
    if (wanted.add_special_tokens) return llm.EncodeRaw(*wanted.prompt);
    return llm.tokenizer().Encode(*wanted.prompt, /*parse_special=*/true);
  }();
  if (!tokens.ok()) return ErrorResponse(ApiErrorOf(tokens.error(), "messages"));
  Json answer = {
      {"count", tokens->size()}, {"max_model_len", llm.max_model_len()}, {"tokens", *tokens}};
  if (wanted.return_token_strs) {
    answer["token_strs"] = Json::array();
    for (const TokenId token : *tokens) {
      answer["token_strs"].push_back(llm.tokenizer().TokenBytes(token));
    }
  }
  return Answered(answer);
}

Prepared Preparer::Detokenize(const HttpRequest& request) {
  const Result<Json> json = ParseBody(request.body);
  if (!json.ok()) return Bad(json.error());
  DetokenizeRequest wanted;
  if (const auto error = ReadDetokenizeRequest(*json, wanted)) return ErrorResponse(*error);
  if (const auto error = CheckModel(options_.model_names, wanted.model)) {
    return ErrorResponse(*error);
  }
  const Tokenizer& tokenizer = llm_.llm().tokenizer();
  for (const TokenId token : wanted.tokens) {
    if (token < tokenizer.vocab_size()) continue;
    return ErrorResponse({.message = fmt::format("token {} is outside the vocabulary of {}", token,
                                                 tokenizer.vocab_size()),
                          .param = "tokens"});
  }
  return Answered({{"prompt", DecodeTokens(tokenizer, wanted.tokens)}});
}

}  // namespace hunch

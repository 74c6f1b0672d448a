#include "server/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "base/utf8.h"
#include "server/answer.h"
#include "server/http_text.h"
#include "server/json_body.h"

namespace hunch {
namespace {

constexpr std::string_view kModels = "/v1/models";

// Takes as long whatever is wrong with it, so that time tells nothing of the key.
bool SameSecret(std::string_view given, std::string_view secret) {
  unsigned difference = given.size() == secret.size() ? 0 : 1;
  for (size_t i = 0; i < given.size(); ++i) {
    difference |= static_cast<uint8_t>(given[i]) ^ static_cast<uint8_t>(secret[i % secret.size()]);
  }
  return difference == 0;
}

void Send(const std::shared_ptr<Reply>& reply, const Json& json) {
  reply->Send({.body = DumpJson(json)});
}

void SendError(const std::shared_ptr<Reply>& reply, const ApiError& error) {
  reply->Send(ErrorResponse(error));
}

std::string TokenText(const Tokenizer& tokenizer, const std::vector<TokenId>& tokens) {
  StreamDecoder decoder;
  std::string text;
  for (const TokenId token : tokens) text += decoder.Push(tokenizer.TokenBytes(token));
  return text + decoder.Flush();
}

}  // namespace

struct Api::Route {
  std::string_view method, path;
  void (Api::*handle)(const HttpRequest&, const ReplyTo&);
};

const std::vector<Api::Route>& Api::Routes() {
  static const std::vector<Route> routes = {
      {"GET", "/health", &Api::Health},
      {"GET", kModels, &Api::Models},
      {"POST", "/v1/chat/completions", &Api::Chat},
      {"POST", "/v1/completions", &Api::Completions},
      {"POST", "/tokenize", &Api::Tokenize},
      {"POST", "/detokenize", &Api::Detokenize},
  };
  return routes;
}

Api::Api(AsyncLlm& llm, ApiOptions options)
    : llm_(llm), options_(std::move(options)), started_(std::time(nullptr)) {}

HttpResponse Api::Refuse(int status, std::string_view message) {
  return ErrorResponse({.status = status, .message = std::string(message)});
}

bool Api::Allowed(const HttpRequest& request) const {
  if (options_.api_key.empty() || request.path == "/health") return true;
  constexpr std::string_view kScheme = "Bearer ";
  return request.authorization.starts_with(kScheme) &&
         SameSecret(std::string_view(request.authorization).substr(kScheme.size()),
                    options_.api_key);
}

void Api::Handle(HttpRequest request, std::shared_ptr<Reply> reply) {
  if (!Allowed(request)) {
    return SendError(reply, {.status = 401,
                             .message = "wrong API key: send it as 'Authorization: Bearer KEY'",
                             .code = "invalid_api_key"});
  }
  if (draining_ && request.method == "POST") {
    return SendError(
        reply, {.status = 503, .message = "the server is shutting down", .code = "shutting_down"});
  }
  const std::string_view method = request.method == "HEAD" ? "GET" : request.method;
  std::string_view path = request.path;
  if (path.starts_with("/v1/models/")) path = kModels;
  std::string_view allowed;
  for (const Route& route : Routes()) {
    if (route.path != path) continue;
    if (route.method == method) return (this->*route.handle)(request, reply);
    allowed = route.method;
  }
  if (allowed.empty()) {
    return SendError(reply,
                     {.status = 404, .message = fmt::format("no such path: {}", Quote(path))});
  }
  HttpResponse response =
      ErrorResponse({.status = 405, .message = fmt::format("{} takes {} only", path, allowed)});
  response.headers.emplace_back("Allow", allowed);
  reply->Send(std::move(response));
}

void Api::Health(const HttpRequest&, const ReplyTo& reply) {
  if (draining_) {
    return SendError(reply, {.status = 503, .message = "shutting down", .code = "shutting_down"});
  }
  const AsyncLlm::Load load = llm_.load();
  Send(reply, {{"status", "ok"}, {"running", load.running}, {"waiting", load.waiting}});
}

Json Api::ModelJson(const std::string& name) const {
  return {{"id", name},
          {"object", "model"},
          {"created", started_},
          {"owned_by", "hunch"},
          {"max_model_len", llm_.llm().max_model_len()}};
}

void Api::Models(const HttpRequest& request, const ReplyTo& reply) {
  if (request.path != kModels) {
    const std::string name = PercentDecode(request.path.substr(kModels.size() + 1));
    if (name.empty()) return SendError(reply, {.status = 404, .message = "name a model"});
    if (const auto error = CheckModel(name)) return SendError(reply, *error);
    return Send(reply, ModelJson(name));
  }
  Json list = Json::array();
  for (const std::string& name : options_.model_names) list.push_back(ModelJson(name));
  Send(reply, {{"object", "list"}, {"data", std::move(list)}});
}

std::optional<ApiError> Api::CheckModel(const std::string& name) const {
  const auto& names = options_.model_names;
  if (name.empty() || std::find(names.begin(), names.end(), name) != names.end()) return {};
  return ApiError{.status = 404,
                  .message = fmt::format("the model {} does not exist: use {}", Quote(name),
                                         fmt::join(names, " or ")),
                  .param = "model",
                  .code = "model_not_found"};
}

AnswerHead Api::MakeHead(std::string_view prefix, const GenerationFields& common) {
  const auto draw = [this] { return uint64_t{random_()} << 32 | random_(); };
  // A seed that was drawn is read back by programs whose numbers are doubles.
  const uint64_t drawn = draw() >> 11;
  return {.id = fmt::format("{}-{:016x}{:08x}", prefix, draw(), static_cast<uint32_t>(draw())),
          .created = std::time(nullptr),
          .model = common.model.empty() ? options_.model_names.front() : common.model,
          .fingerprint = options_.fingerprint,
          .seed = common.seed.value_or(drawn)};
}

Status Api::AddChoices(const std::vector<TokenId>& prompt, const GenerationFields& common,
                       uint64_t seed, std::vector<TextRequest>& out) const {
  TextRequest request = {prompt, common.sampling, common.speculation.Over(options_.speculation)};
  request.params.seed = seed;
  HUNCH_RETURN_IF_ERROR(llm_.llm().Check(request));
  for (int choice = 0; choice < common.n; ++choice) {
    request.params.choice = static_cast<uint32_t>(choice);
    out.push_back(request);
  }
  return Ok{};
}

std::optional<ApiError> Api::CheckRoom(size_t prompts, int n) const {
  const size_t sequences = prompts * static_cast<size_t>(n);
  if (sequences <= static_cast<size_t>(llm_.room())) return {};
  return ApiError{.message = fmt::format("{} sequences are asked for at once, and at most {} fit: "
                                         "ask for fewer",
                                         sequences, llm_.room()),
                  .param = "n"};
}

void Api::Chat(const HttpRequest& request, const ReplyTo& reply) {
  const Result<Json> body = ParseBody(request.body);
  if (!body.ok()) return SendError(reply, {.message = body.error().message});
  ChatRequest chat;
  if (const auto error = ReadChatRequest(*body, chat)) return SendError(reply, *error);
  if (const auto error = CheckModel(chat.common.model)) return SendError(reply, *error);
  if (const auto error = CheckRoom(1, chat.common.n)) return SendError(reply, *error);
  const Result<std::vector<TokenId>> prompt = llm_.llm().EncodeChat(chat.messages);
  if (!prompt.ok()) return SendError(reply, ApiErrorOf(prompt.error(), "messages"));
  AnswerHead head = MakeHead("chatcmpl", chat.common);
  std::vector<TextRequest> requests;
  const Status added = AddChoices(*prompt, chat.common, head.seed, requests);
  if (!added.ok()) return SendError(reply, ApiErrorOf(added.error(), "messages"));
  const AnswerOptions options = {chat.common.n, chat.common.stream, chat.common.include_usage};
  auto format = MakeChatFormat(std::move(head), llm_.llm().tokenizer(), chat.logprobs);
  std::make_shared<Answer>(llm_, options, std::move(format), reply)->Begin(std::move(requests));
}

Result<std::vector<TokenId>> Api::EncodePrompt(const PromptText& prompt) const {
  if (const auto* text = std::get_if<std::string>(&prompt)) return llm_.llm().EncodeRaw(*text);
  return std::get<std::vector<TokenId>>(prompt);
}

void Api::Completions(const HttpRequest& request, const ReplyTo& reply) {
  const Result<Json> body = ParseBody(request.body);
  if (!body.ok()) return SendError(reply, {.message = body.error().message});
  CompletionRequest completion;
  if (const auto error = ReadCompletionRequest(*body, completion)) return SendError(reply, *error);
  const GenerationFields& common = completion.common;
  if (const auto error = CheckModel(common.model)) return SendError(reply, *error);
  const size_t prompts = completion.prompts.size();
  if (const auto error = CheckRoom(prompts, common.n)) return SendError(reply, *error);
  AnswerHead head = MakeHead("cmpl", common);
  const Tokenizer& tokenizer = llm_.llm().tokenizer();
  std::vector<TextRequest> requests;
  std::vector<std::string> echoes;
  for (const PromptText& text : completion.prompts) {
    const Result<std::vector<TokenId>> prompt = EncodePrompt(text);
    if (!prompt.ok()) return SendError(reply, ApiErrorOf(prompt.error(), "prompt"));
    const Status added = AddChoices(*prompt, common, head.seed, requests);
    if (!added.ok()) return SendError(reply, ApiErrorOf(added.error(), "prompt"));
    if (!completion.echo) continue;
    const auto* words = std::get_if<std::string>(&text);
    echoes.resize(requests.size(), words ? *words : TokenText(tokenizer, *prompt));
  }
  const AnswerOptions options = {common.n, common.stream, common.include_usage};
  auto format =
      MakeCompletionFormat(std::move(head), tokenizer, completion.logprobs >= 0, std::move(echoes));
  std::make_shared<Answer>(llm_, options, std::move(format), reply)->Begin(std::move(requests));
}

void Api::Tokenize(const HttpRequest& request, const ReplyTo& reply) {
  const Result<Json> body = ParseBody(request.body);
  if (!body.ok()) return SendError(reply, {.message = body.error().message});
  TokenizeRequest wanted;
  if (const auto error = ReadTokenizeRequest(*body, wanted)) return SendError(reply, *error);
  if (const auto error = CheckModel(wanted.model)) return SendError(reply, *error);
  const Llm& llm = llm_.llm();
  const Result<std::vector<TokenId>> tokens = [&]() -> Result<std::vector<TokenId>> {
    if (!wanted.prompt) return llm.EncodeChat(wanted.messages);
    if (wanted.add_special_tokens) return llm.EncodeRaw(*wanted.prompt);
    return llm.tokenizer().Encode(*wanted.prompt, /*parse_special=*/true);
  }();
  if (!tokens.ok()) return SendError(reply, ApiErrorOf(tokens.error(), "messages"));
  Json json = {
      {"count", tokens->size()}, {"max_model_len", llm.max_model_len()}, {"tokens", *tokens}};
  if (wanted.return_token_strs) {
    json["token_strs"] = Json::array();
    for (const TokenId token : *tokens) {
      json["token_strs"].push_back(llm.tokenizer().TokenBytes(token));
    }
  }
  Send(reply, json);
}

void Api::Detokenize(const HttpRequest& request, const ReplyTo& reply) {
  const Result<Json> body = ParseBody(request.body);
  if (!body.ok()) return SendError(reply, {.message = body.error().message});
  DetokenizeRequest wanted;
  if (const auto error = ReadDetokenizeRequest(*body, wanted)) return SendError(reply, *error);
  if (const auto error = CheckModel(wanted.model)) return SendError(reply, *error);
  const Tokenizer& tokenizer = llm_.llm().tokenizer();
  for (const TokenId token : wanted.tokens) {
    if (token < tokenizer.vocab_size()) continue;
    return SendError(reply, {.message = fmt::format("token {} is outside the vocabulary of {}",
                                                    token, tokenizer.vocab_size()),
                             .param = "tokens"});
  }
  Send(reply, {{"prompt", TokenText(tokenizer, wanted.tokens)}});
}

}  // namespace hunch

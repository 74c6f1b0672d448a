#include "server/api.h"

#include <fmt/format.h>

#include <ctime>
#include <utility>

#include "base/utf8.h"
#include "server/cors.h"
#include "server/http_text.h"
#include "server/metrics_text.h"
#include "server/page.h"

namespace hunch {
namespace {

constexpr std::string_view kModels = "/v1/models";
constexpr std::string_view kPage = "/";  // and the files that it loads

// Takes as long whatever is wrong with it, so that time tells nothing of the key.
bool SameSecret(std::string_view given, std::string_view secret) {
  unsigned difference = given.size() == secret.size() ? 0 : 1;
  for (size_t i = 0; i < given.size(); ++i) {
    difference |= static_cast<uint8_t>(given[i]) ^ static_cast<uint8_t>(secret[i % secret.size()]);
  }
  return difference == 0;
}

HttpResponse ShuttingDown() {
  return ErrorResponse(
      {.status = 503, .message = "the server is shutting down", .code = "shutting_down"});
}

}  // namespace

struct Api::Route {
  std::string_view path;
  Prepared (Preparer::*prepare)(const HttpRequest& request);  // of a POST; null: it is a GET
};

const std::vector<Api::Route>& Api::Routes() {
  static const std::vector<Route> routes = {
      {kPage, nullptr},
      {"/health", nullptr},
      {"/metrics", nullptr},
      {kModels, nullptr},
      {"/v1/chat/completions", &Preparer::Chat},
      {"/v1/completions", &Preparer::Completions},
      {"/tokenize", &Preparer::Tokenize},
      {"/detokenize", &Preparer::Detokenize},
  };
  return routes;
}

Api::Api(AsyncLlm& llm, ApiOptions options)
    : llm_(llm),
      options_(std::move(options)),
      started_(std::time(nullptr)),
      preparer_(llm_, options_),
      speculation_(llm_, options_) {}

HttpResponse Api::Refuse(int status, std::string_view message) {
  return ErrorResponse({.status = status, .message = std::string(message)});
}

bool Api::Allowed(const HttpRequest& request) const {
  // What watches the server need not speak for it.
  const bool watches =
      request.path == "/health" || request.path == "/metrics" || FindPageFile(request.path);
  if (options_.api_key.empty() || watches) return true;
  constexpr std::string_view kScheme = "Bearer ";
  return request.authorization.starts_with(kScheme) &&
         SameSecret(std::string_view(request.authorization).substr(kScheme.size()),
                    options_.api_key);
}

void Api::Handle(HttpRequest request, std::shared_ptr<Reply> reply) {
  for (const auto& [name, value] : CorsHeaders(options_.allowed_origins, request.origin)) {
    reply->AddHeader(name, value);
  }
  // Browsers ask it without a key.
  if (request.method == "OPTIONS" && OriginAllowed(options_.allowed_origins, request.origin)) {
    return reply->Send(PreflightResponse());
  }
  if (!Allowed(request)) {
    return reply->Send(
        ErrorResponse({.status = 401,
                       .message = "wrong API key: send it as 'Authorization: Bearer KEY'",
                       .code = "invalid_api_key"}));
  }
  if (request.path == SpeculationRoute::kPath) {
    if (draining_ && request.method == "POST") return reply->Send(ShuttingDown());
    return speculation_.Handle(std::move(request), std::move(reply));
  }
  const bool names_model = request.path.starts_with("/v1/models/");
  const std::string_view path = names_model                  ? kModels
                                : FindPageFile(request.path) ? kPage
                                                             : std::string_view(request.path);
  for (const Route& route : Routes()) {
    if (route.path != path) continue;
    const bool gets = request.method == "GET" || request.method == "HEAD";
    if (route.prepare == nullptr && gets) return reply->Send(Get(request.path));
    if (route.prepare != nullptr && request.method == "POST") {
      return Prepare(route, std::move(request), std::move(reply));
    }
    const std::string_view allowed = route.prepare == nullptr ? "GET, HEAD" : "POST";
    HttpResponse response =
        ErrorResponse({.status = 405, .message = fmt::format("{} takes {} only", path, allowed)});
    response.headers.emplace_back("Allow", allowed);
    return reply->Send(std::move(response));
  }
  reply->Send(
      ErrorResponse({.status = 404, .message = fmt::format("no such path: {}", Quote(path))}));
}

HttpResponse Api::Get(const std::string& path) const {
  if (path == "/health") return Health();
  if (path == "/metrics") {
    ServeStats stats = llm_.stats();
    if (options_.learning) stats.learning = options_.learning();
    return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
            .body = MetricsText(stats, options_.model_names.front())};
  }
  if (const PageFile* file = FindPageFile(path)) return PageResponse(*file);
  return Models(path);
}

HttpResponse Api::Health() const {
  if (draining_) return ShuttingDown();
  if (llm_.stuck()) {
    return ErrorResponse(
        {.status = 503, .message = "a step of the model does not come back", .code = "stuck"});
  }
  const AsyncLlm::Load load = llm_.load();
  return {.body =
              DumpJson({{"status", "ok"}, {"running", load.running}, {"waiting", load.waiting}})};
}

Json Api::ModelJson(const std::string& name) const {
  return {{"id", name},
          {"object", "model"},
          {"created", started_},
          {"owned_by", "hunch"},
          {"max_model_len", llm_.llm().max_model_len()}};
}

HttpResponse Api::Models(const std::string& path) const {
  if (path != kModels) {
    const std::string name = PercentDecode(std::string_view(path).substr(kModels.size() + 1));
    if (name.empty()) return ErrorResponse({.status = 404, .message = "name a model"});
    if (const auto error = CheckModel(options_.model_names, name)) return ErrorResponse(*error);
    return {.body = DumpJson(ModelJson(name))};
  }
  Json list = Json::array();
  for (const std::string& name : options_.model_names) list.push_back(ModelJson(name));
  return {.body = DumpJson({{"object", "list"}, {"data", std::move(list)}})};
}

void Api::Prepare(const Route& route, HttpRequest request, std::shared_ptr<Reply> reply) {
  if (draining_) return reply->Send(ShuttingDown());
  // The reply goes to the worker and back as a whole, so that it never ends there.
  worker_.Post([this, prepare = route.prepare, request = std::move(request),
                reply = std::move(reply)]() mutable {
    const auto prepared = std::make_shared<Prepared>((preparer_.*prepare)(request));
    Reply& to = *reply;
    to.Post([this, prepared, reply = std::move(reply)] { Begin(std::move(*prepared), reply); });
  });
}

void Api::Begin(Prepared prepared, std::shared_ptr<Reply> reply) {
  if (auto* response = std::get_if<HttpResponse>(&prepared)) {
    return reply->Send(std::move(*response));
  }
  if (draining_) return reply->Send(ShuttingDown());
  auto& answer = std::get<PreparedAnswer>(prepared);
  std::make_shared<Answer>(llm_, answer.options, std::move(answer.format), std::move(reply))
      ->Begin(std::move(answer.requests));
}

}  // namespace hunch

#include "server/speculation_route.h"

#include <fmt/format.h>

#include <utility>

#include "server/api_error.h"
#include "session/speculation_json.h"

namespace hunch {
namespace {

Json RateOf(int64_t accepted, int64_t drafted) {
  if (drafted == 0) return nullptr;
  return static_cast<double>(accepted) / static_cast<double>(drafted);
}

Json DraftersJson(const SpeculationStats& stats) {
  Json list = Json::array();
  for (const DrafterStats& drafter : stats.drafters) {
    list.push_back({{"name", drafter.name},
                    {"trees", drafter.trees},
                    {"draft_tokens", drafter.draft_tokens},
                    {"accepted_tokens", drafter.accepted_tokens},
                    {"acceptance_rate", RateOf(drafter.accepted_tokens, drafter.draft_tokens)},
                    {"passes", drafter.passes},
                    {"seconds", drafter.seconds},
                    {"failures", drafter.failures}});
  }
  return list;
}

Json LearningJson(const LearnStats& stats) {
  const auto rate = [](double tokens_per_pass) {
    return tokens_per_pass == 0 ? Json(nullptr) : Json(tokens_per_pass);
  };
  return {{"phase", LearnPhaseName(stats.phase)},
          {"head", stats.head},
          {"rows", stats.rows},
          {"rows_dropped", stats.rows_dropped},
          {"texts", stats.texts},
          {"held_out", stats.held_out},
          {"answer_tokens", stats.answer_tokens},
          {"segment_bytes", stats.segment_bytes},
          {"rounds", stats.rounds},
          {"failed_rounds", stats.failed_rounds},
          {"comparisons", stats.comparisons},
          {"swaps", stats.swaps},
          {"rollbacks", stats.rollbacks},
          {"replayed_before", rate(stats.replayed_before)},
          {"replayed_after", rate(stats.replayed_after)}};
}

// Of an error of AsyncLlm::SwapSpeculation.
HttpResponse SwapError(const Error& error) {
  ApiError answer = ApiErrorOf(error);
  if (error.code == ErrorCode::kResourceExhausted) {
    answer = {.status = 503, .message = error.message, .code = "no_memory"};
  }
  return ErrorResponse(answer);
}

}  // namespace

HttpResponse SpeculationRoute::State() const {
  const SpeculativeConfig config = llm_.swapped_speculation().value_or(options_.speculation);
  const ServeStats stats = llm_.stats();
  const auto head = llm_.llm().head_method();  // named or shipped
  const EngineTotals& totals = stats.engine;
  const Json learning = options_.learning ? LearningJson(options_.learning()) : Json(nullptr);
  return {.body =
              DumpJson({{"object", "speculation"},
                        {"enabled", !config.method.none()},
                        {"config", SpeculativeConfigJson(config)},
                        {"head", head ? Json(DrafterKindName(*head)) : Json(nullptr)},
                        {"drafts", totals.drafts},
                        {"draft_tokens", totals.draft_tokens},
                        {"accepted_tokens", totals.accepted_tokens},
                        {"acceptance_rate", RateOf(totals.accepted_tokens, totals.draft_tokens)},
                        {"accepted_per_position", totals.accepted_per_position},
                        {"goodput_ratio", totals.goodput_ratio()},
                        {"fallbacks", totals.fallbacks},
                        {"drafter_errors", totals.drafter_errors},
                        {"drafters", DraftersJson(stats.speculation)},
                        {"learning", learning}})};
}

HttpResponse SpeculationRoute::Swap(const std::string& body) {
  const Result<SpeculationFlag> fields = ParseSpeculationFlag(body);
  if (!fields.ok()) return ErrorResponse({.message = fields.error().message});
  const Result<SpeculativeConfig> config = SingleMethod(*fields);
  if (!config.ok()) return ErrorResponse({.message = config.error().message});
  const Status swapped = llm_.SwapSpeculation(*config);
  return swapped.ok() ? State() : SwapError(swapped.error());
}

void SpeculationRoute::Handle(HttpRequest request, std::shared_ptr<Reply> reply) {
  if (request.method == "GET" || request.method == "HEAD") return reply->Send(State());
  if (request.method != "POST") {
    HttpResponse response = ErrorResponse(
        {.status = 405, .message = fmt::format("{} takes GET, HEAD and POST only", kPath)});
    response.headers.emplace_back("Allow", "GET, HEAD, POST");
    return reply->Send(std::move(response));
  }
  if (options_.api_key.empty()) {
    return reply->Send(ErrorResponse(
        {.status = 403,
         .message = "to change how the server guesses needs a key: start it with --api-key",
         .code = "no_api_key"}));
  }
  // The reply goes to the worker and back as a whole, so that it never ends there.
  worker_.Post([this, body = std::move(request.body), reply = std::move(reply)]() mutable {
    const auto response = std::make_shared<HttpResponse>(Swap(body));
    Reply& to = *reply;
    to.Post([response, reply = std::move(reply)] { reply->Send(std::move(*response)); });
  });
}

}  // namespace hunch

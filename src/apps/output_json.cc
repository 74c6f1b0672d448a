#include "apps/output_json.h"

namespace hunch {
namespace {

Json LogprobsJson(const std::vector<TokenChoice>& choices, const Tokenizer& tokenizer) {
  const auto entry = [&](TokenId token, float logprob) {
    return Json{{"token_id", token},
                {"token", std::string(tokenizer.TokenBytes(token))},
                {"logprob", logprob}};
  };
  Json list = Json::array();
  for (const TokenChoice& choice : choices) {
    Json item = entry(choice.token, choice.logprob);
    item["top"] = Json::array();
    for (const TokenLogprob& other : choice.top) {
      item["top"].push_back(entry(other.token, other.logprob));
    }
    list.push_back(std::move(item));
  }
  return list;
}

}  // namespace

Json RatioJson(double numerator, double denominator) {
  return denominator > 0 ? Json(numerator / denominator) : Json(nullptr);
}

Json CostsJson(const SpeculationStats& stats) {
  Json json;
  json["draft_ms"] = stats.draft_seconds * 1e3;
  json["target_ms"] = stats.target_seconds * 1e3;
  json["draft_throughput"] = RatioJson(stats.draft_tokens, stats.draft_seconds);
  json["target_throughput"] = RatioJson(stats.decode_tokens, stats.target_seconds);
  json["speedup_estimate"] =
      RatioJson(stats.plain_seconds, stats.target_seconds + stats.draft_seconds);
  json["return_on_drafting"] = RatioJson(
      stats.plain_seconds - stats.target_seconds - stats.draft_seconds, stats.draft_seconds);
  json["fallbacks"] = stats.fallbacks;
  json["probes"] = stats.probes;
  json["drafters"] = Json::object();
  for (const DrafterStats& drafter : stats.drafters) {
    json["drafters"][drafter.name] = {
        {"drafts", drafter.trees},
        {"draft_tokens", drafter.draft_tokens},
        {"accepted_tokens", drafter.accepted_tokens},
        {"acceptance_rate", RatioJson(drafter.accepted_tokens, drafter.draft_tokens)},
        {"passes", drafter.passes},
        {"ms", drafter.seconds * 1e3},
        {"failures", drafter.failures}};
  }
  return json;
}

Json SpeculationJson(const SpeculationStats& stats) {
  Json json;
  json["method"] = DraftMethodName(stats.method);
  json["drafts"] = stats.drafts;
  json["draft_tokens"] = stats.draft_tokens;
  json["accepted_tokens"] = stats.accepted_tokens;
  json["accepted_per_position"] = stats.accepted_per_position;
  json["acceptance_rate"] = RatioJson(stats.accepted_tokens, stats.draft_tokens);
  json["mean_accepted_length"] = stats.mean_accepted_length();
  json["target_passes"] = stats.target_passes;
  json["tokens_per_pass"] = stats.tokens_per_pass();
  json["drafter_errors"] = stats.drafter_errors;
  json.update(CostsJson(stats));
  return json;
}

Json OutputJson(const RequestOutput& output, const Tokenizer& tokenizer, double load_seconds) {
  const auto tokens = static_cast<double>(output.token_ids.size());
  Json json;
  json["text"] = output.text;
  json["token_ids"] = output.token_ids;
  json["prompt_tokens"] = output.prompt_tokens;
  json["completion_tokens"] = output.token_ids.size();
  json["finish_reason"] = FinishReasonName(output.finish_reason);
  json["timings"] = {{"load_ms", load_seconds * 1e3},
                     {"prefill_ms", output.timings.prefill * 1e3},
                     {"decode_ms", output.timings.decode * 1e3},
                     {"prefill_tokens_per_second",
                      RatioJson(static_cast<double>(output.prompt_tokens), output.timings.prefill)},
                     {"decode_tokens_per_second",
                      tokens > 1 ? RatioJson(tokens - 1, output.timings.decode) : Json(nullptr)}};
  json["speculation"] = SpeculationJson(output.speculation);
  if (!output.logprobs.empty()) json["logprobs"] = LogprobsJson(output.logprobs, tokenizer);
  return json;
}

double DecodeRate(const RequestOutput& output) {
  const auto tokens = static_cast<double>(output.token_ids.size());
  return tokens > 1 && output.timings.decode > 0 ? (tokens - 1) / output.timings.decode : 0;
}

}  // namespace hunch

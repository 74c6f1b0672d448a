#include "server/answer_format.h"

#include <algorithm>

namespace hunch {

Json AnswerFormat::Object(std::string_view object, Json choices) const {
  return {{"id", head_.id},
          {"object", object},
          {"created", head_.created},
          {"model", head_.model},
          {"system_fingerprint", head_.fingerprint},
          {"seed", head_.seed},
          {"choices", std::move(choices)}};
}

namespace {

// As PromptTokens, of those the ones that the KV cache held for the prompt's first choice.
int64_t CachedTokens(const std::vector<ChoiceOutput>& choices, int n) {
  int64_t tokens = 0;
  for (size_t i = 0; i < choices.size(); i += static_cast<size_t>(n)) {
    tokens += choices[i].output.cached_tokens;
  }
  return tokens;
}

int64_t PromptTokens(const std::vector<ChoiceOutput>& choices, int n) {
  int64_t tokens = 0;
  for (size_t i = 0; i < choices.size(); i += static_cast<size_t>(n)) {
    tokens += choices[i].output.prompt_tokens;
  }
  return tokens;
}

int64_t OutputTokens(const std::vector<ChoiceOutput>& choices) {
  int64_t tokens = 0;
  for (const ChoiceOutput& choice : choices) {
    tokens += static_cast<int64_t>(choice.output.token_ids.size());
  }
  return tokens;
}

Json PerSecond(int64_t count, double seconds) {
  return seconds > 0 ? Json(static_cast<double>(count) / seconds) : Json(nullptr);
}

}  // namespace

Json UsageJson(const std::vector<ChoiceOutput>& choices, int n) {
  const int64_t prompt = PromptTokens(choices, n);
  const int64_t output = OutputTokens(choices);
  Json details = {{"cached_tokens", CachedTokens(choices, n)}};
  return {{"prompt_tokens", prompt},
          {"completion_tokens", output},
          {"total_tokens", prompt + output},
          {"prompt_tokens_details", std::move(details)}};
}

Json TimingsJson(const std::vector<ChoiceOutput>& choices, int n) {
  const int64_t cached = CachedTokens(choices, n);
  const int64_t prompt = PromptTokens(choices, n) - cached;
  const int64_t output = OutputTokens(choices);
  double prefill = 0, decode = 0;
  SpeculationStats speculation;
  for (const ChoiceOutput& choice : choices) {
    prefill = std::max(prefill, choice.output.timings.prefill);
    decode = std::max(decode, choice.output.timings.decode);
    speculation.Add(choice.output.speculation);
  }
  // The first token of each choice comes out of the prompt's pass.
  const int64_t decoded = output - static_cast<int64_t>(choices.size());
  return {{"cache_n", cached},
          {"prompt_n", prompt},
          {"prompt_ms", prefill * 1e3},
          {"prompt_per_second", PerSecond(prompt, prefill)},
          {"predicted_n", output},
          {"predicted_ms", decode * 1e3},
          {"predicted_per_second", PerSecond(std::max<int64_t>(decoded, 0), decode)},
          {"target_passes", speculation.target_passes},
          {"draft_n", speculation.draft_tokens},
          {"draft_n_accepted", speculation.accepted_tokens}};
}

double JsonLogprob(float logprob) { return std::max<double>(logprob, -9999); }

}  // namespace hunch

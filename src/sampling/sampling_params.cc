// ValidateSamplingParams: every range of include/hunch/sampling_params.h, NaN included. Pure;
// thread safe.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "sampling/sampler.h"

namespace hunch {
namespace {

Error Invalid(std::string_view field, std::string_view value, std::string_view wanted) {
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{} is {}: it must be {}", field, value, wanted)};
}

// Written as "not inside" so that NaN, which fails every comparison, is refused.
Status CheckFloats(const SamplingParams& p) {
  const float largest = std::numeric_limits<float>::max();
  const auto value = [](float x) { return fmt::format("{}", x); };
  if (!(p.temperature >= 0 && p.temperature <= largest)) {
    return Invalid("temperature", value(p.temperature),
                   "a finite number of at least 0 (0 is greedy)");
  }
  if (!(p.top_p > 0 && p.top_p <= 1)) {
    return Invalid("top_p", value(p.top_p), "above 0 and at most 1 (1 is off)");
  }
  if (!(p.min_p >= 0 && p.min_p <= 1)) {
    return Invalid("min_p", value(p.min_p), "from 0 to 1 (0 is off)");
  }
  if (!(p.typical_p > 0 && p.typical_p <= 1)) {
    return Invalid("typical_p", value(p.typical_p), "above 0 and at most 1 (1 is off)");
  }
  if (!(p.repetition_penalty > 0 && p.repetition_penalty <= largest)) {
    return Invalid("repetition_penalty", value(p.repetition_penalty),
                   "a finite number above 0 (1 is off)");
  }
  if (!(p.presence_penalty >= -2 && p.presence_penalty <= 2)) {
    return Invalid("presence_penalty", value(p.presence_penalty), "from -2 to 2 (0 is off)");
  }
  if (!(p.frequency_penalty >= -2 && p.frequency_penalty <= 2)) {
    return Invalid("frequency_penalty", value(p.frequency_penalty), "from -2 to 2 (0 is off)");
  }
  return Ok{};
}

Status CheckCounts(const SamplingParams& p, int vocab_size) {
  const auto value = [](int x) { return fmt::format("{}", x); };
  if (p.top_k < -1) return Invalid("top_k", value(p.top_k), "at least 1, or 0 or -1 (off)");
  if (p.min_tokens < 0) return Invalid("min_tokens", value(p.min_tokens), "at least 0");
  if (p.max_tokens < 1 && p.max_tokens != -1) {
    return Invalid("max_tokens", value(p.max_tokens),
                   "at least 1, or -1 (until the context is full)");
  }
  if (p.max_tokens != -1 && p.min_tokens > p.max_tokens) {
    return Invalid("min_tokens", value(p.min_tokens),
                   fmt::format("at most max_tokens ({})", p.max_tokens));
  }
  for (const auto& [field, count] :
       {std::pair{"logprobs", p.logprobs}, std::pair{"prompt_logprobs", p.prompt_logprobs}}) {
    if (count >= -1 && count <= vocab_size) continue;
    return Invalid(field, value(count),
                   fmt::format("from 0 to the vocabulary size ({}), or -1 (none)", vocab_size));
  }
  return Ok{};
}

Status CheckToken(std::string_view field, int32_t token, int vocab_size) {
  if (token >= 0 && token < vocab_size) return Ok{};
  return Invalid(field, fmt::format("given for token {}", token),
                 fmt::format("for tokens of the vocabulary (0 to {})", vocab_size - 1));
}

}  // namespace

Status ValidateSamplingParams(const SamplingParams& params, int vocab_size) {
  HUNCH_RETURN_IF_ERROR(CheckFloats(params));
  HUNCH_RETURN_IF_ERROR(CheckCounts(params, vocab_size));
  for (const auto& [token, bias] : params.logit_bias) {
    HUNCH_RETURN_IF_ERROR(CheckToken("logit_bias", token, vocab_size));
    if (!(bias >= -100 && bias <= 100)) {
      return Invalid("logit_bias", fmt::format("{} for token {}", bias, token), "from -100 to 100");
    }
  }
  for (const int32_t token : params.banned_tokens) {
    HUNCH_RETURN_IF_ERROR(CheckToken("banned_tokens", token, vocab_size));
  }
  for (const int32_t token : params.stop_token_ids) {
    HUNCH_RETURN_IF_ERROR(CheckToken("stop_token_ids", token, vocab_size));
  }
  for (const std::string& stop : params.stop) {
    if (stop.empty()) return Invalid("stop", "an empty string", "text of at least one character");
  }
  return Ok{};
}

}  // namespace hunch

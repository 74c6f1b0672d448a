#include "engine/check_request.h"

#include <fmt/format.h>

#include <utility>

#include "sampling/sampler.h"

namespace hunch {

Status CheckPrompt(std::span<const TokenId> prompt, int max_model_len, int vocab_size,
                   std::string_view advice) {
  if (prompt.empty()) {
    return Error{ErrorCode::kInvalidArgument, "the prompt is empty: give at least one token"};
  }
  if (std::cmp_greater_equal(prompt.size(), max_model_len)) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("the prompt has {} tokens, which leaves no room in the context of {}: {}",
                    prompt.size(), max_model_len, advice)};
  }
  for (const TokenId token : prompt) {
    if (token >= 0 && token < vocab_size) continue;
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("prompt token {} is outside the vocabulary of {}", token, vocab_size)};
  }
  return Ok{};
}

Status CheckRequest(const EngineRequest& request, const EngineOptions& options) {
  HUNCH_RETURN_IF_ERROR(ValidateSamplingParams(request.params, options.vocab_size));
  return CheckPrompt(request.prompt, options.max_model_len, options.vocab_size,
                     "shorten it or raise max_model_len");
}

}  // namespace hunch

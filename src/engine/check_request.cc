#include "engine/check_request.h"

#include <fmt/format.h>

#include "sampling/sampler.h"

namespace hunch {

Status CheckRequest(const EngineRequest& request, const EngineOptions& options) {
  HUNCH_RETURN_IF_ERROR(ValidateSamplingParams(request.params, options.vocab_size));
  const int prompt = static_cast<int>(request.prompt.size());
  if (prompt == 0) {
    return Error{ErrorCode::kInvalidArgument, "the prompt is empty: give at least one token"};
  }
  if (prompt >= options.max_model_len) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("the prompt has {} tokens, which leaves no room in the context of {}: "
                             "shorten it or raise max_model_len",
                             prompt, options.max_model_len)};
  }
  for (const TokenId token : request.prompt) {
    if (token >= 0 && token < options.vocab_size) continue;
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("prompt token {} is outside the vocabulary of {}", token, options.vocab_size)};
  }
  return Ok{};
}

}  // namespace hunch

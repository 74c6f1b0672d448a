// How much room a drafter makes at Start, so that its steps allocate nothing.
#ifndef HUNCH_DRAFT_RESERVE_H_
#define HUNCH_DRAFT_RESERVE_H_

#include <algorithm>
#include <cstddef>

#include "hunch/sampling_params.h"

namespace hunch {

// Tokens of prompt and output; most: what the context allows. A request without a limit seldom
// fills the context, and room that is never used would delay its first token: it gets room for
// 2048 tokens of output, and grows if it goes on.
inline size_t TokensToReserve(size_t most, size_t prompt, const SamplingParams& params) {
  constexpr int kUnlimitedOutput = 2048;
  const int output = params.max_tokens < 0 ? kUnlimitedOutput : params.max_tokens;
  return std::max(prompt, std::min(most, prompt + static_cast<size_t>(output)));
}

}  // namespace hunch

#endif  // HUNCH_DRAFT_RESERVE_H_

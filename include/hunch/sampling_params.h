// How one request's tokens are chosen. Names, defaults and ranges are vLLM's where vLLM has them.
#ifndef HUNCH_SAMPLING_PARAMS_H_
#define HUNCH_SAMPLING_PARAMS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hunch/structured_output.h"

namespace hunch {

// How guesses are accepted (docs/lossless.md). kCoupled gives one text per seed whatever was
// guessed; the others promise the target's distribution only.
enum class AcceptanceRule {
  kCoupled,
  kRatio,  // p/q with residual (arXiv 2211.17192), on trees without replacement (2402.14160)
  kBlock,  // as kRatio, and chains are verified as a block (2403.10444)
};

struct SamplingParams {
  AcceptanceRule acceptance = AcceptanceRule::kCoupled;
  // 0 is greedy. The chosen token is argmax(processed logit / temperature + keyed Gumbel noise).
  float temperature = 0.0f;                           // >= 0
  float top_p = 1.0f;                                 // (0, 1]
  int top_k = 0;                                      // 0 or -1: off
  float min_p = 0.0f;                                 // [0, 1]
  float typical_p = 1.0f;                             // (0, 1], arXiv 2202.00666
  float repetition_penalty = 1.0f;                    // > 0; over prompt and output
  float presence_penalty = 0.0f;                      // [-2, 2]; over the output
  float frequency_penalty = 0.0f;                     // [-2, 2]; over the output
  std::vector<std::pair<int32_t, float>> logit_bias;  // token -> added to its logit, [-100, 100]
  std::vector<int32_t> banned_tokens;
  int min_tokens = 0;             // no end token before this many output tokens
  int max_tokens = -1;            // -1: until the context is full
  uint64_t seed = 0;              // keys the noise
  uint32_t choice = 0;            // which of a request's n choices; keys the noise
  std::vector<std::string> stop;  // text that ends the output and is not part of it
  std::vector<int32_t> stop_token_ids;
  bool ignore_eos = false;
  // -1: none. 0: the chosen token's. n: also those of the n most likely tokens.
  int logprobs = -1;
  int prompt_logprobs = -1;                                   // as logprobs, of the prompt's tokens
  std::shared_ptr<const StructuredOutput> structured_output;  // null: any text
};

}  // namespace hunch

#endif  // HUNCH_SAMPLING_PARAMS_H_

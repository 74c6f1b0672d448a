// What a model answered to one prompt. Names are vLLM's where vLLM has them.
#ifndef HUNCH_REQUEST_OUTPUT_H_
#define HUNCH_REQUEST_OUTPUT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace hunch::api {

struct Logprob {
  int32_t token_id = -1;
  std::string token;  // its bytes, which need not be whole characters
  float logprob = 0;  // natural logarithm of its probability before sampling controls; -inf: none
};

struct TokenLogprobs {
  Logprob chosen;
  std::vector<Logprob> top;  // [SamplingParams::logprobs], most likely first
};

struct CompletionOutput {
  int index = 0;                        // which of the prompt's answers
  std::string text;                     // UTF-8, without what ended it (end token, stop string)
  std::vector<int32_t> token_ids;       // [tokens], with what ended it
  std::vector<bool> guessed;            // [tokens]: it was an accepted guess
  std::vector<TokenLogprobs> logprobs;  // [tokens]; empty unless asked for
  // "stop" (end token, stop string or stop token), "length" (max_tokens, or the context is full),
  // "cancelled" (OnText said so).
  std::string finish_reason;
};

struct RequestMetrics {
  double prefill_seconds = 0;       // from the request's start to its first token
  double decode_seconds = 0;        // from its first token to its last
  int64_t num_drafts = 0;           // passes of the model that verified at least one guess
  int64_t num_draft_tokens = 0;     // guesses verified
  int64_t num_accepted_tokens = 0;  // of those, how many came true
};

struct RequestDetails;  // everything else that Hunch's own programs show

struct RequestOutput {
  std::string prompt;                     // as it was given; "" for a chat
  std::vector<int32_t> prompt_token_ids;  // [prompt tokens], of a chat as the template renders it
  // [prompt tokens]; empty unless asked for. The first token's is NaN: nothing comes before it.
  std::vector<TokenLogprobs> prompt_logprobs;
  int64_t num_cached_tokens = 0;          // of them, found in the prefix cache
  std::vector<CompletionOutput> outputs;  // [1]
  RequestMetrics metrics;
  std::shared_ptr<const RequestDetails> details;
};

}  // namespace hunch::api

#endif  // HUNCH_REQUEST_OUTPUT_H_

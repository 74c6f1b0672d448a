// What `hunch bench` and `hunch tune` share: prompts as tokens, and an answer with its time.
#ifndef HUNCH_APPS_BENCH_RUN_H_
#define HUNCH_APPS_BENCH_RUN_H_

#include <string>
#include <vector>

#include "apps/bench_plan.h"
#include "apps/context.h"

namespace hunch {

struct EncodedPrompts {
  std::vector<EncodedPrompt> prompts;
  std::vector<BenchPrompt> skipped;  // those that leave no room for the answer
};
// An error when none is left.
Result<EncodedPrompts> EncodePrompts(const Llm& llm, const Flags& flags, int max_tokens,
                                     std::vector<BenchPrompt> prompts);
// "skipping 1 of 5 prompts: ..."
std::string SkippedLine(size_t skipped, size_t kept, int max_model_len);

struct TimedAnswer {
  RequestOutput output;
  BenchSample sample;
};
Result<TimedAnswer> TimeAnswer(Llm& llm, std::span<const TokenId> prompt,
                               const SamplingParams& params, const SpeculativeConfig& config,
                               const OnText& on_text, const Context& context);

}  // namespace hunch

#endif  // HUNCH_APPS_BENCH_RUN_H_

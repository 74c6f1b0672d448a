// What a `hunch bench` measures, and what came of it. Plain data.
#ifndef HUNCH_APPS_BENCH_PLAN_H_
#define HUNCH_APPS_BENCH_PLAN_H_

#include <string>
#include <vector>

#include "apps/bench_stats.h"
#include "apps/flags.h"
#include "apps/prompts_file.h"
#include "session/llm.h"

namespace hunch {

inline constexpr int kBenchMaxTokens = 128;  // without --max-tokens

struct EncodedPrompt {
  BenchPrompt prompt;
  std::vector<TokenId> tokens;
};

struct Mismatch {
  size_t method = 0, prompt = 0;
  int round = 0;
  Difference difference;
};

struct BenchResults {
  std::vector<SpeculativeConfig> methods;  // methods[0] is none
  bool compared = true;                    // whether outputs must be identical
  std::vector<EncodedPrompt> prompts;
  std::vector<BenchPrompt> skipped;  // too long for the context
  std::vector<BenchGroup> groups;
  std::vector<Mismatch> mismatches;
  bool interrupted = false;  // before every prompt was answered in every round
  int threads = 0, max_model_len = 0;
  std::vector<PassTime> pass_times;  // what a pass takes by its rows, as measured by the end
};

}  // namespace hunch

#endif  // HUNCH_APPS_BENCH_PLAN_H_

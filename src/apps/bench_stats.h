// The arithmetic of `hunch bench`: outputs compared, samples summed up. Pure functions, tested with
// numbers.
#ifndef HUNCH_APPS_BENCH_STATS_H_
#define HUNCH_APPS_BENCH_STATS_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "session/llm.h"

namespace hunch {

// Where one output leaves another.
struct Difference {
  size_t position = 0;              // of the first token that differs
  std::optional<TokenId> expected;  // unset: the output ended there
  std::optional<TokenId> got;
  bool text_only = false;  // the tokens are equal and the text or finish reason is not
};
std::optional<Difference> CompareOutputs(const RequestOutput& expected, const RequestOutput& got);

// One method's answer to one prompt.
struct BenchSample {
  double wall_seconds = 0;  // the whole request
  double prefill_seconds = 0;
  double decode_seconds = 0;
  int64_t tokens = 0;
  SpeculationStats speculation;
};

// One prompt in one round: a sample of every method, taken one after the other.
struct BenchGroup {
  int round = 0;
  size_t prompt = 0;
  std::vector<BenchSample> samples;  // [method]; method 0 is none
};

// Median, least and most over rounds; all 0 when no round has a value.
struct Spread {
  double median = 0, least = 0, most = 0;
};
Spread SpreadOf(std::vector<double> values);

struct MethodSummary {
  int64_t answers = 0;  // prompts x rounds
  Spread tokens_per_second;
  Spread speedup;          // wall time of method 0 over this one's, same prompts and round
  double ttft_ms = 0;      // median
  double draft_share = 0;  // of the wall time, spent in drafters
  SpeculationStats total;  // counts of all answers summed
};
// Over the groups whose prompt is `wanted`.
MethodSummary Summarise(const std::vector<BenchGroup>& groups, size_t method,
                        const std::function<bool(size_t prompt)>& wanted);

}  // namespace hunch

#endif  // HUNCH_APPS_BENCH_STATS_H_

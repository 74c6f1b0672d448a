// What `hunch bench rows` measures: passes of M rows and prompts on a real model, beside the limits
// of the machine. Not thread safe.
#ifndef HUNCH_SESSION_ROW_BENCH_H_
#define HUNCH_SESSION_ROW_BENCH_H_

#include <functional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "session/llm.h"

namespace hunch {

inline constexpr int kMostBenchRows = 256;  // of a pass: the engine's own limit

struct RowBenchOptions {
  LlmOptions model;           // model, threads, type of the cache
  std::vector<int> contexts;  // committed tokens before a pass
  std::vector<int> rows;      // 1..kMostBenchRows
  std::vector<int> prompts;   // tokens
  int repeats = 7;
};

// The time of a pass is at least max(bytes / read bandwidth, multiply-adds / dot peak).
struct RowLimit {
  double seconds = 0;
  bool by_read = false;  // the larger of the two is the reading
};
struct RowBenchRow {
  int rows;
  double seconds;  // median
  RowLimit limit;
};
struct RowBenchContext {
  int context;
  double decode_tokens_per_second;  // of one-row steps with the greedy choice of each next token
  std::vector<RowBenchRow> rows;    // ascending
};
struct RowBenchPrompt {
  int tokens;
  double tokens_per_second;
};
struct RowBenchReport {
  int threads = 0;
  double read_bytes_per_second = 0, macs_per_second = 0;  // measured
  std::vector<RowBenchContext> contexts;
  std::vector<RowBenchPrompt> prompts;
  bool stopped = false;  // on_progress said so; nothing else is meaningful
};

// Called once when the model is loaded, then before each of `total` pieces of work; false: stop.
using OnRowBench = std::function<bool(int64_t done, int64_t total)>;

// Errors: what loading a model can give, lengths that the model's context or the memory has no room
// for.
Result<RowBenchReport> RunRowBench(const RowBenchOptions& options, const OnRowBench& on_progress);

}  // namespace hunch

#endif  // HUNCH_SESSION_ROW_BENCH_H_

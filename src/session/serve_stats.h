// ServeStats: what serving has done and is doing, for /metrics. A value: the engine's thread writes
// one after each step and hands out copies.
#ifndef HUNCH_SESSION_SERVE_STATS_H_
#define HUNCH_SESSION_SERVE_STATS_H_

#include <array>
#include <optional>

#include "engine/engine_totals.h"
#include "metrics/histogram.h"
#include "session/auditor.h"
#include "session/learn_stats.h"
#include "session/llm.h"

namespace hunch {

// The bounds are vLLM's, so that dashboards fit.
inline constexpr double kFirstTokenBounds[] = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08,
                                               0.1,   0.25,  0.5,  0.75, 1,    2.5,  5,
                                               7.5,   10,    20,   40,   80,   160};
inline constexpr double kTokenBounds[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1,
                                          0.15,  0.2,    0.3,   0.4,  0.5,   0.75, 1,     2.5};
inline constexpr double kRequestBounds[] = {0.3, 0.5, 0.8, 1,  1.5, 2,  2.5, 5,   10,
                                            15,  20,  30,  40, 50,  60, 120, 240, 480};
inline constexpr double kCountBounds[] = {1,   2,    5,    10,   20,    50,    100,  200,
                                          500, 1000, 2000, 5000, 10000, 20000, 50000};

struct ServeStats {
  int running = 0, waiting = 0;
  double kv_usage = 0;  // share of the blocks that sequences hold
  EngineTotals engine;
  AuditCounts audits;
  int kernels_distrusted = 0;    // that gave other bits than the reference, which replaces them
  SpeculationStats speculation;  // of all requests that are over
  std::optional<LearnStats> learning;                 // none: it does not learn
  std::array<int64_t, kFinishReasons> finished = {};  // by FinishReason
  // Of requests: seconds, from their submission.
  Histogram first_token{kFirstTokenBounds};
  Histogram queue{kRequestBounds};
  Histogram request{kRequestBounds};
  Histogram per_token{kTokenBounds};  // of a request, between its first token and its last
  Histogram prompt_tokens{kCountBounds};
  Histogram generation_tokens{kCountBounds};

  // A request is over that waited so long before it ran.
  void Count(const RequestOutput& output, double queue_seconds) {
    ++finished[static_cast<size_t>(output.finish_reason)];
    speculation.Add(output.speculation);
    const auto tokens = static_cast<double>(output.token_ids.size());
    queue.Observe(queue_seconds);
    if (tokens == 0) return;
    first_token.Observe(queue_seconds + output.timings.prefill);
    request.Observe(queue_seconds + output.timings.prefill + output.timings.decode);
    if (tokens > 1) per_token.Observe(output.timings.decode / (tokens - 1));
    prompt_tokens.Observe(static_cast<double>(output.prompt_tokens));
    generation_tokens.Observe(tokens);
  }
};

}  // namespace hunch

#endif  // HUNCH_SESSION_SERVE_STATS_H_

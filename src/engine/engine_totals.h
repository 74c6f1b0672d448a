// What an engine has done since it was made: a value, written after each commit.
#ifndef HUNCH_ENGINE_ENGINE_TOTALS_H_
#define HUNCH_ENGINE_ENGINE_TOTALS_H_

#include <array>
#include <cstdint>

namespace hunch {

struct EngineTotals {
  static constexpr int kDepths = 16;  // the last one stands for all beyond

  int64_t steps = 0;
  int64_t prompt_tokens = 0;      // of requests that have got their first token
  int64_t generation_tokens = 0;  // committed
  int64_t preemptions = 0;
  int64_t cache_queries = 0;  // tokens that the prefix cache was asked for
  int64_t cache_hits = 0;     // of those, how many it had

  int64_t drafts = 0;           // trees verified
  int64_t draft_tokens = 0;     // their nodes
  int64_t accepted_tokens = 0;  // of those, how many were committed
  std::array<int64_t, kDepths> accepted_per_position = {};
  int64_t drafter_errors = 0;
  int64_t fallbacks = 0;

  double target_seconds = 0;  // of passes that decoded, each counted for every sequence in it
  double draft_seconds = 0;
  double plain_seconds = 0;  // what one-row passes for the same tokens would have taken
};

}  // namespace hunch

#endif  // HUNCH_ENGINE_ENGINE_TOTALS_H_

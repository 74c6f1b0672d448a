// What one request did: a value, complete when it is over.
#ifndef HUNCH_ENGINE_ENGINE_STATS_H_
#define HUNCH_ENGINE_ENGINE_STATS_H_

#include <cstdint>
#include <vector>

#include "seq/types.h"

namespace hunch {

struct EngineStats {
  int64_t target_passes = 0;  // passes that gave tokens after the first one
  int64_t decode_tokens = 0;  // tokens that those passes gave
  double target_seconds = 0;  // of those passes
  double plain_seconds = 0;   // what as many one-row passes would have taken, by the cost curve
  int64_t drafts = 0;
  int64_t draft_tokens = 0;
  int64_t accepted_tokens = 0;
  std::vector<int64_t> accepted_per_position;  // by depth
  TreeCounts places;                           // of the trees verified
  int64_t drafter_errors = 0;
  double draft_seconds = 0;
  int64_t fallbacks = 0;      // times that the budget went back to plain decoding
  int64_t probes = 0;         // steps that it spent on finding out whether guessing pays again
  int64_t cached_tokens = 0;  // of the prompt, found in the KV cache
  std::vector<DrafterStats> drafters;
};

}  // namespace hunch

#endif  // HUNCH_ENGINE_ENGINE_STATS_H_

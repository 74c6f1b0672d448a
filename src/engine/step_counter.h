// StepCounter: adds what a step did for one sequence to its stats and to the engine's totals. Not
// thread safe (scratch). A count allocates nothing once trees have had their size and the stats
// have room for their depth.
#ifndef HUNCH_ENGINE_STEP_COUNTER_H_
#define HUNCH_ENGINE_STEP_COUNTER_H_

#include <cstdint>
#include <span>

#include "engine/count_places.h"
#include "engine/engine_stats.h"
#include "engine/engine_totals.h"
#include "seq/types.h"

namespace hunch {

// A step that gave a sequence tokens.
struct CountedStep {
  const DraftTree& tree;          // as it was verified
  std::span<const int32_t> path;  // the accepted nodes, from a root down
  int64_t committed;              // tokens
  int64_t first_of_prompt;        // of how many tokens they were the first after; 0: later ones
  bool may_guess;                 // it has drafters
  double pass_seconds;            // of the whole pass
  double plain_seconds;           // what one-row passes would have taken for its tokens
};

class StepCounter {
 public:
  void Count(const CountedStep& step, EngineStats& stats, EngineTotals& totals);

 private:
  void CountTree(const CountedStep& step, EngineStats& stats, EngineTotals& totals);

  PlaceCounter places_;
};

}  // namespace hunch

#endif  // HUNCH_ENGINE_STEP_COUNTER_H_

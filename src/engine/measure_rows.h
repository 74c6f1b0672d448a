// Measures what a target's passes cost by rows and context: the ground of the cost curve that
// budgets speculation, and what `hunch bench rows` shows. Confined to the engine's thread.
#ifndef HUNCH_ENGINE_MEASURE_ROWS_H_
#define HUNCH_ENGINE_MEASURE_ROWS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "kv/block_pool.h"
#include "model/target.h"
#include "sched/cost_curve.h"

namespace hunch {

struct MeasurePlan {
  std::vector<int> contexts;  // committed slots before a pass
  std::vector<int> rows;      // of a verify pass: a chain, every row with logits
  std::vector<int> prompts;   // tokens of a prompt, read in passes of max_rows rows
  int decode_steps = 0;       // of each run of plain decoding; 0: none
  int repeats = 5;            // of everything above, taken in turn

  // Slots that the measurement writes.
  int Slots() const;
  // Pieces of work that are timed, the warm-up included.
  int64_t Pieces() const;
};

// Medians over the repeats, in the plan's order.
struct ContextTimes {
  int context;
  std::vector<PassTime> rows;  // ascending in rows
  double decode_seconds = 0;   // of one token: a one-row pass and the choice of the next token
};
struct PromptTime {
  int tokens;
  double seconds;
};
struct RowTimes {
  std::vector<ContextTimes> contexts;
  std::vector<PromptTime> prompts;
};

// Called before each timed piece of work; false: stop.
using OnMeasure = std::function<bool(int64_t done, int64_t total)>;

// Takes plan.Slots() slots of `pool`, which accounts for target's KV memory, and gives them back.
// Every slot of a context is really written before it is read. CHECKs that the plan fits the
// target's limits and the pool. nullopt: stopped.
std::optional<RowTimes> MeasureRows(Target& target, BlockPool& pool, const MeasurePlan& plan,
                                    const OnMeasure& on_measure);

}  // namespace hunch

#endif  // HUNCH_ENGINE_MEASURE_ROWS_H_

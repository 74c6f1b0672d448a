// From a request's speculative configuration to the engine's drafters and budget. Private to
// session/.
#ifndef HUNCH_SESSION_MAKE_DRAFTERS_H_
#define HUNCH_SESSION_MAKE_DRAFTERS_H_

#include <memory>
#include <vector>

#include "draft/drafter.h"
#include "sched/budget.h"
#include "sched/cost_curve.h"
#include "session/draft_side.h"
#include "session/llm.h"

namespace hunch {

// None for the method none. Errors: the configuration is invalid, or wants a draft model that was
// not loaded.
Result<std::vector<std::unique_ptr<Drafter>>> MakeDrafters(const SpeculativeConfig& config,
                                                           const DraftSide& draft_side,
                                                           const Tokenizer& tokenizer,
                                                           int max_model_len);

BudgetOptions BudgetFor(const SpeculativeConfig& config);

// What passes of more rows cost beside one row on a CPU with these instructions, before any was
// timed.
std::vector<PassTime> PriorPassTimes();

}  // namespace hunch

#endif  // HUNCH_SESSION_MAKE_DRAFTERS_H_

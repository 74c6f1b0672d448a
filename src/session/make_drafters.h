// From a request's speculative configuration to the engine's drafters and budget. Private to
// session/.
#ifndef HUNCH_SESSION_MAKE_DRAFTERS_H_
#define HUNCH_SESSION_MAKE_DRAFTERS_H_

#include <memory>
#include <vector>

#include "draft/drafter.h"
#include "sched/budget.h"
#include "sched/cost_curve.h"
#include "session/draft_sides.h"
#include "session/llm.h"
#include "session/shared_stores.h"

namespace hunch {

// What drafters are made of.
struct DraftParts {
  DraftSides drafts;  // must outlive the drafters
  const Tokenizer& tokenizer;
  SharedStores& stores;
  int max_model_len;
};

// None for the method none. Errors: the configuration is invalid, wants a draft model or a head
// that was not loaded, or names a file that cannot be used.
Result<std::vector<std::unique_ptr<Drafter>>> MakeDrafters(const SpeculativeConfig& config,
                                                           const DraftParts& parts);

// The errors of MakeDrafters that need no file. Any thread.
Status CheckSpeculation(const SpeculativeConfig& config, const DraftSides& drafts);

BudgetOptions BudgetFor(const SpeculativeConfig& config);

// What passes of more rows cost beside one row on a CPU with these instructions, before any was
// timed.
std::vector<PassTime> PriorPassTimes();

}  // namespace hunch

#endif  // HUNCH_SESSION_MAKE_DRAFTERS_H_

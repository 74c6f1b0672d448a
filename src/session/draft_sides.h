// The draft model and the head beside a target; either may be missing. Here is decided which files
// they are: those that are named, and else the shipped head that fits. Private to session/. A value
// to copy; what it points to is DraftSide's.
#ifndef HUNCH_SESSION_DRAFT_SIDES_H_
#define HUNCH_SESSION_DRAFT_SIDES_H_

#include <memory>
#include <vector>

#include "session/draft_side.h"

namespace hunch {

struct DraftSides {
  std::shared_ptr<DraftSide> model, head;  // null: none
  // Nobody named the head: what is wrong with it costs a warning, not the run.
  bool head_may_go = false;

  PlannedDrafts planned() const;
  // Those that are there.
  std::vector<const DraftSide*> all() const;
  // Who makes this drafter; null: neither.
  const DraftSide* For(DrafterKind kind) const;
};

// Opens what `options` name. What `running` has of it is taken from there.
Result<DraftSides> OpenDraftSides(const LlmOptions& options, const PlannedModel& target,
                                  const Tokenizer& tokenizer, const DraftSides& running = {});

// Memory for all: the plan, without a head that may go and would cost anything else its room.
Result<SizedPlan> PlanSides(const LlmOptions& options, const PlannedModel& target, int threads,
                            DraftSides& sides);
// As DraftSide::Load.
Status LoadSides(const LlmOptions& options, const SizedPlan& plan, Model& target, ThreadPool& pool,
                 DraftSides& sides);
// As DraftSide::LoadBeside, of those that `running` has not.
Status LoadSidesBeside(const LlmOptions& options, const DraftSides& running, int max_model_len,
                       Model& target, ThreadPool& pool, DraftSides& sides);

}  // namespace hunch

#endif  // HUNCH_SESSION_DRAFT_SIDES_H_

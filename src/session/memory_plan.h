// What a target, its draft model, its head and their caches need, against what the machine has.
// From headers alone.
#ifndef HUNCH_SESSION_MEMORY_PLAN_H_
#define HUNCH_SESSION_MEMORY_PLAN_H_

#include "draft/head_file.h"
#include "model/model.h"
#include "session/llm.h"

namespace hunch {

// The target verifies at most 64 guesses and the row before them.
inline constexpr ForwardLimits kTargetLimits = {.max_rows = 256, .max_logit_rows = 65};
// A pass of a draft model grows each sequence's tree by so many leaves.
inline constexpr int kDraftLeaves = 4;
// Room for the trees of all sequences in a pass; of more than 16, the others wait for the next.
ForwardLimits DraftLimits(int max_num_seqs);

// One model file of a plan.
struct PlannedModel {
  const GgufFile* file = nullptr;
  ModelConfig config;                // of a head: that of its layer
  LoadOptions load = {};             // of draft models
  const HeadConfig* head = nullptr;  // of a head
};

// Of a head, which must outlive the plan, for a target of this shape.
PlannedModel PlanHead(const GgufFile& file, const HeadConfig& head, const ModelConfig& target);

// What guesses beside a target.
struct PlannedDrafts {
  const PlannedModel* model = nullptr;  // null: none
  bool shares_weights = false;          // the target drafts for itself
  const PlannedModel* head = nullptr;   // null: none
  bool head_may_go = false;             // rather than that anything else has less room
};

struct SizedPlan {
  int max_model_len = 0;
  int target_blocks = 0;  // KV blocks
  int draft_blocks = 0;
  int head_blocks = 0;
  bool head_left_out = false;  // one that may go
  MemoryPlan memory;
};

// Sizes everything for options.max_model_len, or, where that is 0, for the largest context that
// fits. kInvalidArgument when max_model_len exceeds the model's context. What does not fit is not
// an error here: see CheckFits.
Result<SizedPlan> PlanMemory(const LlmOptions& options, const PlannedModel& target,
                             const PlannedDrafts& drafts, int threads);

// kResourceExhausted, naming the setting that would fit, when the plan exceeds what is available.
Status CheckFits(const LlmOptions& options, const PlannedModel& target, const PlannedDrafts& drafts,
                 int threads, const SizedPlan& plan);

}  // namespace hunch

#endif  // HUNCH_SESSION_MEMORY_PLAN_H_

// Speculator: the guessing side of one sequence. It asks the request's drafters, merges their
// trees, lets the budget cut the result, and tells all of them what became of it. A drafter that
// fails is dropped for the rest of the request and the others go on: it costs time, never text.
// Confined to the engine's thread.
#ifndef HUNCH_ENGINE_SPECULATOR_H_
#define HUNCH_ENGINE_SPECULATOR_H_

#include <memory>
#include <string>
#include <vector>

#include "draft/drafter.h"
#include "draft/merge_trees.h"
#include "sched/budget.h"
#include "seq/types.h"
#include "verify/trim_tree.h"

namespace hunch {

// The room that a step leaves to a sequence's guesses.
struct DraftRoom {
  int base_rows;  // rows that the pass has without them, >= 1
  int max_nodes;
  int max_depth;  // and at most one token more will come
};

class Speculator {
 public:
  // `budget` is the engine's and must outlive this. At least one drafter.
  Speculator(Budget& budget, const BudgetOptions& options, int vocab_size,
             std::vector<std::unique_ptr<Drafter>> drafters);
  // Drafters that cannot start are dropped.
  void Start(std::span<const TokenId> prompt, const SamplingParams& params);

  // Most nodes that it may want to verify in a step; 0: no drafter is left.
  int max_nodes() const;
  // Fills `tree` with what is worth verifying after `committed`.
  void Propose(std::span<const TokenId> committed, const DraftRoom& room, DraftTree& tree);
  // How many of the target's likeliest tokens the drafters want to hear of.
  int top_wanted() const { return top_wanted_; }
  // After the commit of a step: `new_tokens` were added. `rows` and `pass_seconds` are the whole
  // pass's.
  void Learn(const Observation& step, std::span<const TokenId> new_tokens, int rows,
             double pass_seconds);
  // The sequence is over, or goes on without it.
  void Forget();

  std::span<const DrafterStats> stats() const { return stats_; }  // [drafters]
  const SequenceBudget& budget() const { return *own_; }

 private:
  bool MakesPasses(size_t i) const { return drafters_[i] && drafters_[i]->makes_passes(); }
  void Ask(size_t i, std::span<const TokenId> committed, const ProposeLimits& limits,
           DraftTree& tree);
  void Drop(size_t i, const std::string& why);

  Budget& shared_;
  BudgetOptions options_;
  int vocab_size_;
  std::vector<std::unique_ptr<Drafter>> drafters_;  // null: dropped
  std::vector<DrafterStats> stats_;                 // [drafters_]
  std::unique_ptr<SequenceBudget> own_;             // from Start on
  int top_wanted_ = 0;
  bool chance_ = false;  // the rule lets guesses be drawn
  int prompt_ = 0;       // its length

  // Scratch, kept so that a step allocates nothing.
  TreeTrimmer trimmer_;
  TreeMerger merger_;
  std::vector<DraftTree> proposed_;  // [drafters_]: of the last step, before they were merged
  std::vector<DrafterWork> work_;    // [drafters_], of the last step
};

}  // namespace hunch

#endif  // HUNCH_ENGINE_SPECULATOR_H_

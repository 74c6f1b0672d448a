// Speculator: the guessing side of one sequence. It asks the request's drafters, merges their
// trees, lets the budget cut the result, and tells all of them what became of it. A drafter that
// fails, throws or overruns its work bound is dropped for the rest of the request and the others go
// on: it costs time, never text.
//
// A step's guesses are made in parts, so that drafters that run a model can share its passes with
// other sequences' (step_proposer.h): LookUp, then a turn for each drafter with a model, then
// Finish. Confined to the engine's thread.
#ifndef HUNCH_ENGINE_SPECULATOR_H_
#define HUNCH_ENGINE_SPECULATOR_H_

#include <memory>
#include <string>
#include <vector>

#include "draft/draft_passes.h"
#include "draft/hidden_drafter.h"
#include "draft/merge_trees.h"
#include "sched/budget.h"
#include "seq/types.h"
#include "verify/mark_forbidden.h"
#include "verify/trim_tree.h"

namespace hunch {

// The room that a step leaves to a sequence's guesses.
struct DraftRoom {
  int max_nodes;
  int max_depth;  // and at most one token more will come
};

class Speculator {
 public:
  // `budget` is the engine's and must outlive this. At least one drafter.
  Speculator(Budget& budget, const BudgetOptions& options, int vocab_size,
             std::vector<std::unique_ptr<Drafter>> drafters);
  // Drafters that cannot start are dropped. Guesses that `constraint` forbids are left out; null:
  // none is. It must outlive this.
  void Start(std::span<const TokenId> prompt, const SamplingParams& params,
             ConstraintCursor* constraint = nullptr);

  // Most nodes that it may want to verify in a step; 0: no drafter is left.
  int max_nodes() const;
  bool runs_models() const;
  const GuessSwitches& switches() const { return options_.switches; }

  // In all of these: `base` is what the target's pass has without this sequence's guesses, `tree`
  // holds the guesses so far, merged. `committed` must live until Finish.
  //
  // Asks the drafters that only look things up.
  void LookUp(std::span<const TokenId> committed, const DraftRoom& room, const BaseRows& base,
              DraftTree& tree);
  // It is the turn of the next drafter with a model; null: of none any more.
  ModelDrafter* NextTurn();
  // Whether that one would be asked if `sharers` sequences shared its passes, this one among them.
  SequenceBudget::Ask WouldAsk(const BaseRows& base, int sharers, const DraftTree& tree) {
    return own_->WouldAsk(turn_, tree, base, sharers);
  }
  // Whether it is asked; if so, `ask` says for what.
  SequenceBudget::Ask DecideToAsk(const BaseRows& base, int sharers, const DraftTree& tree,
                                  DraftAsk& ask);
  // A pass of `rows` rows was run, in which the ask had a part.
  void CountPass(const DraftAsk& ask, int rows, double seconds);
  // The ask is done.
  void TakeAnswer(const DraftAsk& ask, DraftTree& tree);
  // Cuts the tree to what is worth verifying.
  void Finish(const BaseRows& base, DraftTree& tree);

  // Instead of all these: there is no room for its guesses in this step.
  void SitOut();

  // How many of the target's likeliest tokens the drafters want to hear of.
  int top_wanted() const { return top_wanted_; }
  // After the commit of a step: `new_tokens` were added. `rows` and `pass_seconds` are the whole
  // pass's.
  void Learn(const Observation& step, std::span<const TokenId> new_tokens, int rows,
             double pass_seconds);

  // Of the sequence's tokens: of how many, from the first, its drafters need no hidden states.
  int KnownHidden(std::span<const TokenId> tokens) const;
  // Who reads the target's hidden states for the drafters: added to `readers`, each once.
  void AddReaders(std::vector<HiddenReader*>& readers) const;
  // After Learn: what was committed goes to the drafters whose readers were `tapped` in the pass;
  // those readers are added to `waiting`, each once. False: there is none.
  bool TakeHidden(const HiddenRows& rows, std::span<HiddenReader* const> tapped,
                  std::vector<HiddenReader*>& waiting);
  // Their reading took this long.
  void CountReading(double seconds);

  // The sequence is over, or goes on without it.
  void Forget();

  std::span<const DrafterStats> stats() const { return stats_; }  // [drafters]
  const SequenceBudget& budget() const { return *own_; }

 private:
  ModelDrafter* ModelAt(size_t i) const {
    return drafters_[i] ? drafters_[i]->model_drafter() : nullptr;
  }
  HiddenDrafter* HiddenAt(size_t i) const {
    return drafters_[i] ? drafters_[i]->hidden_drafter() : nullptr;
  }
  void AskToLookUp(size_t i, DraftTree& tree);
  void TakeTree(size_t i, const ProposeLimits& limits, const Status& status, DraftTree& tree);
  // Takes note of a proposal that took so long, beside passes. An error: too many took too long.
  Status CheckWorkBound(size_t i, double seconds);
  void Drop(size_t i, const std::string& why);

  Budget& shared_;
  BudgetOptions options_;
  int vocab_size_;
  std::vector<std::unique_ptr<Drafter>> drafters_;  // null: dropped
  std::vector<DrafterStats> stats_;                 // [drafters_]
  std::vector<int> overruns_;                       // [drafters_]: of the work bound
  std::unique_ptr<SequenceBudget> own_;             // from Start on
  int top_wanted_ = 0;
  ConstraintCursor* constraint_ = nullptr;
  bool chance_ = false;  // the rule lets guesses be drawn
  int prompt_ = 0;       // its length

  // Of the step.
  std::span<const TokenId> committed_;
  DraftRoom room_ = {0, 0};
  ProposeLimits limits_ = {};
  int turn_ = -1;  // whose it is, of the drafters with a model

  // Scratch, kept so that a step allocates nothing.
  TreeTrimmer trimmer_;
  ForbiddenMarker marker_;
  TreeMerger merger_;
  std::vector<DraftTree> proposed_;  // [drafters_]: of the last step, before they were merged
  std::vector<DrafterWork> work_;    // [drafters_], of the last step
};

}  // namespace hunch

#endif  // HUNCH_ENGINE_SPECULATOR_H_

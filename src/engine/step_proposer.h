// StepProposer: asks the drafters of all sequences of a step. Those that look things up answer one
// after the other; those that run the same model share its passes (draft_passes.h), so that n
// sequences cost as many passes as the one that wants most, not the sum.
//
// What a pass costs a sequence is its share by rows. Whether a drafter is worth asking is decided
// at the price that all who would take part would pay: from all downwards, so that none stays
// away because it would be too dear alone. It changes no text. Confined to the engine's thread.
#ifndef HUNCH_ENGINE_STEP_PROPOSER_H_
#define HUNCH_ENGINE_STEP_PROPOSER_H_

#include <span>
#include <vector>

#include "draft/draft_passes.h"
#include "engine/speculator.h"
#include "seq/types.h"

namespace hunch {

class StepProposer {
 public:
  // One sequence's.
  struct Part {
    Speculator* speculator;
    std::span<const TokenId> committed;
    DraftRoom room;
    DraftTree* tree;  // is filled with what is worth verifying after `committed`
  };

  // base: what the target's pass has without any guesses.
  void Propose(std::span<const Part> parts, const BaseRows& base);

 private:
  // A drafter with a model whose turn it is.
  struct Candidate {
    const Part* part;
    const Target* model;
    bool takes_part;
  };

  void Finish(const Part& part);
  bool TakeTurn();
  int SharersWith(const Candidate& candidate) const;
  void SettleWhoTakesPart();
  void DecideWhoIsAsked();
  void RunPasses();

  BaseRows base_ = 1;  // of the target's pass, with the finished trees
  // Scratch, kept so that a step allocates nothing.
  std::vector<const Part*> pending_;  // that have drafters with models
  std::vector<Candidate> candidates_;
  std::vector<DraftAsk> asks_;
  std::vector<const Part*> asked_;  // [asks_]
  DraftPasses passes_;
};

}  // namespace hunch

#endif  // HUNCH_ENGINE_STEP_PROPOSER_H_

#include "engine/step_proposer.h"

#include <algorithm>

namespace hunch {

void StepProposer::Propose(std::span<const Part> parts, const BaseRows& base) {
  base_ = base;
  pending_.clear();
  for (const Part& part : parts) {
    part.speculator->LookUp(part.committed, part.room, base_, *part.tree);
    if (part.speculator->runs_models()) {
      pending_.push_back(&part);
    } else {
      Finish(part);
    }
  }
  // A request's drafters with models are asked in turn: each knows what those before it guessed.
  while (TakeTurn()) {
  }
  for (const Part* part : pending_) Finish(*part);
}

void StepProposer::Finish(const Part& part) {
  part.speculator->Finish(base_, *part.tree);
  base_.rows += part.tree->size();
  base_.tokens += part.speculator->budget().expected_tokens();
}

bool StepProposer::TakeTurn() {
  candidates_.clear();
  for (const Part* part : pending_) {
    ModelDrafter* const drafter = part->speculator->NextTurn();
    if (drafter != nullptr) candidates_.push_back({part, &drafter->model(), true});
  }
  if (candidates_.empty()) return false;
  SettleWhoTakesPart();
  DecideWhoIsAsked();
  RunPasses();
  return true;
}

// The candidate itself among them.
int StepProposer::SharersWith(const Candidate& candidate) const {
  int sharers = candidate.takes_part ? 0 : 1;
  for (const Candidate& other : candidates_) {
    sharers += other.takes_part && other.model == candidate.model;
  }
  return sharers;
}

// Whoever does not pay at the price that those who are left would share leaves, which makes it
// dearer for the others. Twice is enough: whom the last ones made too dear will see what it costs.
void StepProposer::SettleWhoTakesPart() {
  if (candidates_.size() == 1) return;  // it pays for itself, and is about to be asked
  for (int round = 0; round < 2; ++round) {
    BaseRows base = base_;
    for (Candidate& candidate : candidates_) {
      if (!candidate.takes_part) continue;
      const SequenceBudget::Ask ask =
          candidate.part->speculator->WouldAsk(base, SharersWith(candidate), *candidate.part->tree);
      candidate.takes_part = ask.worth;
      base = {base.rows + ask.nodes, base.tokens + ask.tokens};
    }
  }
}

void StepProposer::DecideWhoIsAsked() {
  asks_.clear();
  asked_.clear();
  BaseRows base = base_;
  for (const Candidate& candidate : candidates_) {
    DraftAsk ask;
    const SequenceBudget::Ask worth = candidate.part->speculator->DecideToAsk(
        base, SharersWith(candidate), *candidate.part->tree, ask);
    base = {base.rows + worth.nodes, base.tokens + worth.tokens};
    if (!worth.worth) continue;
    asks_.push_back(ask);
    asked_.push_back(candidate.part);
  }
}

void StepProposer::RunPasses() {
  passes_.Begin(asks_);
  while (passes_.Next()) {
    for (size_t i = 0; i < asks_.size(); ++i) {
      if (asks_[i].rows == 0) continue;
      asked_[i]->speculator->CountPass(asks_[i], passes_.rows(), passes_.seconds());
    }
  }
  for (size_t i = 0; i < asks_.size(); ++i) {
    asked_[i]->speculator->TakeAnswer(asks_[i], *asked_[i]->tree);
  }
}

}  // namespace hunch

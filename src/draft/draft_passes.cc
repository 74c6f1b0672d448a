#include "draft/draft_passes.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/stopwatch.h"
#include "draft/guarded.h"

namespace hunch {

Status ModelDrafter::Propose(std::span<const TokenId> committed, const ProposeLimits& limits,
                             DraftTree& tree) {
  DraftAsk ask = {.drafter = this, .committed = committed, .limits = limits, .tree = &tree};
  DraftPasses passes;
  passes.Begin({&ask, 1});
  while (passes.Next()) {
  }
  return std::move(ask.status);
}

void DraftPasses::Fail(DraftAsk& ask, const Error& error) {
  ask.status = error;
  ask.tree->clear();
}

void DraftPasses::Begin(std::span<DraftAsk> asks) {
  asks_ = asks;
  first_ = 0;
  for (DraftAsk& ask : asks_) {
    const Stopwatch watch;
    const Status begun =
        Guarded([&] { return ask.drafter->Begin(ask.committed, ask.limits, *ask.tree); });
    if (!begun.ok()) Fail(ask, begun.error());
    ask.own_seconds += watch.Seconds();
  }
}

Target* DraftPasses::NextModel() const {
  for (const DraftAsk& ask : asks_) {
    if (ask.status.ok() && ask.drafter->wanted_rows() > 0) return &ask.drafter->model();
  }
  return nullptr;
}

bool DraftPasses::Next() {
  while (Target* const model = NextModel()) {
    Gather(*model);
    if (batch_.empty()) continue;  // whoever wanted rows has failed
    RunPass(*model);
    return true;
  }
  return false;
}

// Those who want no more than a fair share come first, so that nobody waits for another's prompt;
// long prompts fill the rest, one after the other. Who found no room comes first the next time.
void DraftPasses::Gather(Target& model) {
  batch_.clear();
  taking_part_.clear();
  rows_ = 0;
  for (DraftAsk& ask : asks_) ask.rows = ask.logit_rows = 0;
  const auto wanted = [&](const DraftAsk& ask) {
    const bool waits = ask.status.ok() && &ask.drafter->model() == &model;
    return waits ? ask.drafter->wanted_rows() : 0;
  };
  const auto waiting =
      std::count_if(asks_.begin(), asks_.end(), [&](const auto& ask) { return wanted(ask) > 0; });
  ForwardLimits left = model.limits();
  const int fair = std::max(left.max_rows / static_cast<int>(waiting), 1);
  const size_t first = first_;
  bool all = true;
  for (const bool long_ones : {false, true}) {
    for (size_t i = 0; i < asks_.size(); ++i) {
      const size_t index = (first + i) % asks_.size();
      const int rows = wanted(asks_[index]);
      if (rows == 0 || (rows > fair) != long_ones) continue;
      Lay(index, left);
      const bool waits = asks_[index].status.ok() && asks_[index].rows == 0;
      if (!waits || long_ones || !all) continue;
      first_ = index;
      all = false;
    }
  }
}

void DraftPasses::Lay(size_t index, ForwardLimits& left) {
  DraftAsk& ask = asks_[index];
  SequenceRows rows;
  const Stopwatch watch;
  int laid = 0;
  const Status status = Guarded([&]() -> Status {
    HUNCH_ASSIGN_OR_RETURN(laid, ask.drafter->LayRows(left.max_rows, left.max_logit_rows, rows));
    return Ok{};
  });
  ask.own_seconds += watch.Seconds();
  if (!status.ok()) return Fail(ask, status.error());
  // Room for all that a pass can hold, and still not enough: it would wait for ever.
  HUNCH_CHECK(laid > 0 || !batch_.empty()) << "a draft model's rows fit into no pass";
  if (laid == 0) return;
  ask.rows = laid;
  ask.logit_rows = static_cast<int>(rows.tokens.size()) - rows.logits_from;
  left.max_rows -= ask.rows;
  left.max_logit_rows -= ask.logit_rows;
  rows_ += ask.rows;
  batch_.push_back(rows);
  taking_part_.push_back(&ask);
}

void DraftPasses::RunPass(Target& model) {
  const Stopwatch pass;
  Logits logits = model.Forward(batch_);
  seconds_ = pass.Seconds();
  const int64_t blocks = LogitBlocks(model.vocab());
  for (DraftAsk* ask : taking_part_) {
    const Stopwatch watch;
    const Status taken = Guarded([&] { ask->drafter->Take(logits); });
    if (!taken.ok()) Fail(*ask, taken.error());
    ask->own_seconds += watch.Seconds();
    logits.rows += int64_t{ask->logit_rows} * model.vocab();
    if (logits.maxima != nullptr) logits.maxima += ask->logit_rows * blocks;
  }
}

}  // namespace hunch

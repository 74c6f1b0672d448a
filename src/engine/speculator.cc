#include "engine/speculator.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/stopwatch.h"
#include "draft/guarded.h"

namespace hunch {
namespace {

constexpr int kMostNodes = 64;  // of a tree; beyond, a row costs more than it can bring
// A slow proposal may be the fault of a busy machine; so many are the drafter's.
constexpr int kMostOverruns = 3;
constexpr double kBoundInPasses = 10;

bool AnyDrawn(const DraftTree& tree) {
  return std::any_of(tree.laws.begin(), tree.laws.end(),
                     [](int32_t law) { return law != DraftTree::kCertain; });
}

void AddOnce(HiddenReader* reader, std::vector<HiddenReader*>& readers) {
  if (std::find(readers.begin(), readers.end(), reader) == readers.end()) readers.push_back(reader);
}

}  // namespace

Speculator::Speculator(Budget& budget, const BudgetOptions& options, int vocab_size,
                       std::vector<std::unique_ptr<Drafter>> drafters)
    : shared_(budget),
      options_(options),
      vocab_size_(vocab_size),
      drafters_(std::move(drafters)),
      stats_(drafters_.size()),
      overruns_(drafters_.size()),
      proposed_(drafters_.size()),
      work_(drafters_.size()) {}

void Speculator::Start(std::span<const TokenId> prompt, const SamplingParams& params,
                       ConstraintCursor* constraint) {
  constraint_ = constraint;
  chance_ = params.acceptance != AcceptanceRule::kCoupled;
  prompt_ = static_cast<int>(prompt.size());
  std::vector<std::string_view> names;
  for (size_t i = 0; i < drafters_.size(); ++i) {
    names.push_back(drafters_[i]->name());
    stats_[i].name = names.back();
  }
  own_ = std::make_unique<SequenceBudget>(shared_, options_, names, params.temperature);
  for (size_t i = 0; i < drafters_.size(); ++i) {
    const Stopwatch watch;
    const Status started = Guarded([&] { return drafters_[i]->Start(prompt, params); });
    stats_[i].seconds += watch.Seconds();
    if (!started.ok()) {
      Drop(i, started.error().message);
    } else {
      top_wanted_ = std::max(top_wanted_, drafters_[i]->top_wanted());
    }
  }
}

int Speculator::max_nodes() const {
  const bool alive = std::any_of(drafters_.begin(), drafters_.end(),
                                 [](const auto& drafter) { return drafter != nullptr; });
  if (!alive) return 0;
  return options_.policy == Policy::kFixed ? options_.fixed_nodes : kMostNodes;
}

void Speculator::Drop(size_t i, const std::string& why) {
  LogWarning(
      fmt::format("drafter {} failed and is off for this request, whose text does not change: {}",
                  stats_[i].name, why));
  ++stats_[i].failures;
  // What it holds of this request is of no more use.
  (void)Guarded([&] { drafters_[i]->Forget(); });
  drafters_[i].reset();
}

Status Speculator::CheckWorkBound(size_t i, double seconds) {
  const double bound =
      std::max(options_.most_call_seconds, kBoundInPasses * shared_.PassSeconds(1));
  if (seconds <= bound || ++overruns_[i] < kMostOverruns) return Ok{};
  return Error{ErrorCode::kResourceExhausted,
               fmt::format("{} proposals took over {:.3g} s, the last one {:.3g} s", kMostOverruns,
                           bound, seconds)};
}

void Speculator::TakeTree(size_t i, const ProposeLimits& limits, const Status& status,
                          DraftTree& tree) {
  DraftTree& own = proposed_[i];
  stats_[i].seconds += work_[i].seconds;
  stats_[i].passes += work_[i].passes;
  if (!status.ok()) {
    own.clear();
    Drop(i, status.error().message);
    return;
  }
  trimmer_.Trim(limits.max_nodes, limits.max_depth, vocab_size_, own);
  if (constraint_ != nullptr && marker_.Mark(committed_, *constraint_, own)) {
    trimmer_.Trim(limits.max_nodes, limits.max_depth, vocab_size_, own);
  }
  std::fill(own.sources.begin(), own.sources.end(), static_cast<uint8_t>(i));
  stats_[i].trees += !own.empty();
  merger_.Merge(own, static_cast<uint8_t>(i), tree);
}

void Speculator::AskToLookUp(size_t i, DraftTree& tree) {
  const Stopwatch watch;
  const Status proposed =
      Guarded([&] { return drafters_[i]->Propose(committed_, limits_, proposed_[i]); });
  work_[i].seconds = watch.Seconds();
  TakeTree(i, limits_, proposed.ok() ? CheckWorkBound(i, work_[i].seconds) : proposed, tree);
}

bool Speculator::runs_models() const {
  for (size_t i = 0; i < drafters_.size(); ++i) {
    if (ModelAt(i) != nullptr) return true;
  }
  return false;
}

// They cost microseconds, and what they guess may spare the others' passes.
void Speculator::LookUp(std::span<const TokenId> committed, const DraftRoom& room,
                        const BaseRows& base, DraftTree& tree) {
  tree.clear();
  for (DraftTree& own : proposed_) own.clear();
  std::fill(work_.begin(), work_.end(), DrafterWork{});
  committed_ = committed;
  room_ = room;
  turn_ = -1;
  const SequenceBudget::Limits allowed = own_->DraftLimits(base, room.max_nodes, room.max_depth);
  limits_ = {allowed.max_nodes, allowed.max_depth, 0};
  if (limits_.max_nodes <= 0) return;
  for (size_t i = 0; i < drafters_.size(); ++i) {
    if (drafters_[i] && ModelAt(i) == nullptr) AskToLookUp(i, tree);
  }
}

ModelDrafter* Speculator::NextTurn() {
  if (limits_.max_nodes <= 0) return nullptr;
  while (++turn_ < static_cast<int>(drafters_.size())) {
    ModelDrafter* const drafter = ModelAt(turn_);
    if (drafter == nullptr) continue;
    if (stats_[turn_].passes == 0) {
      own_->ExpectStart(turn_, drafter->unread(committed_),
                        static_cast<int>(committed_.size()) - prompt_, room_.max_depth + 1);
    }
    return drafter;
  }
  return nullptr;
}

SequenceBudget::Ask Speculator::DecideToAsk(const BaseRows& base, int sharers,
                                            const DraftTree& tree, DraftAsk& ask) {
  const SequenceBudget::Ask worth = own_->WorthAsking(turn_, tree, base, sharers);
  if (!worth.worth) return worth;
  const int depth = std::min(limits_.max_depth, worth.max_depth);
  const float least = chance_ ? 0 : worth.min_path_probability;
  ask = {.drafter = ModelAt(turn_),
         .committed = committed_,
         .limits = {limits_.max_nodes, depth, least},
         .tree = &proposed_[turn_]};
  return worth;
}

void Speculator::CountPass(const DraftAsk& ask, int rows, double seconds) {
  shared_.AddPass(ask.rows, rows, seconds, work_[turn_]);
  work_[turn_].reading_passes += ask.logit_rows == 0;
}

void Speculator::TakeAnswer(const DraftAsk& ask, DraftTree& tree) {
  work_[turn_].seconds += ask.own_seconds;
  TakeTree(turn_, ask.limits, ask.status.ok() ? CheckWorkBound(turn_, ask.own_seconds) : ask.status,
           tree);
}

void Speculator::Finish(const BaseRows& base, DraftTree& tree) {
  if (limits_.max_nodes <= 0) return;
  // To drop a guess for what was drawn would bend the law that it is judged by (docs/lossless.md):
  // there the last ones go, whatever they are.
  if (!AnyDrawn(tree)) own_->Prune(base, tree);
  trimmer_.Trim(limits_.max_nodes, limits_.max_depth, vocab_size_, tree);
}

// What was proposed in an earlier step says nothing about this one.
void Speculator::SitOut() {
  for (DraftTree& own : proposed_) own.clear();
  std::fill(work_.begin(), work_.end(), DrafterWork{});
  limits_ = {};
}

void Speculator::Learn(const Observation& step, std::span<const TokenId> new_tokens, int rows,
                       double pass_seconds) {
  for (const uint8_t source : step.tree.sources) ++stats_[source].draft_tokens;
  for (const int32_t node : step.path) ++stats_[step.tree.sources[node]].accepted_tokens;
  own_->Learn(proposed_, step.tree.size(), new_tokens, rows, pass_seconds, work_);
  for (size_t i = 0; i < drafters_.size(); ++i) {
    if (!drafters_[i]) continue;
    const Status observed = Guarded([&] { drafters_[i]->Observe(step); });
    if (!observed.ok()) Drop(i, observed.error().message);
  }
  if (own_->TakeWarning()) {
    LogWarning(fmt::format(
        "fewer than {:.0f} % of the guesses are accepted on this text; {} (--acceptance-warning "
        "sets the limit, 0 turns this message off)",
        100 * options_.acceptance_warning,
        options_.policy == Policy::kGoodput
            ? "speculation goes on only where it pays"
            : "the configured number is tried all the same: without a number, only as many are as "
              "pay"));
  }
}

int Speculator::KnownHidden(std::span<const TokenId> tokens) const {
  int known = static_cast<int>(tokens.size());
  for (size_t i = 0; i < drafters_.size(); ++i) {
    if (HiddenAt(i) != nullptr) known = std::min(known, HiddenAt(i)->known(tokens));
  }
  return known;
}

void Speculator::AddReaders(std::vector<HiddenReader*>& readers) const {
  for (size_t i = 0; i < drafters_.size(); ++i) {
    if (HiddenAt(i) != nullptr) AddOnce(&HiddenAt(i)->reader(), readers);
  }
}

bool Speculator::TakeHidden(const HiddenRows& rows, std::span<HiddenReader* const> tapped,
                            std::vector<HiddenReader*>& waiting) {
  bool taken = false;
  for (size_t i = 0; i < drafters_.size(); ++i) {
    HiddenDrafter* const drafter = HiddenAt(i);
    if (drafter == nullptr) continue;
    HiddenReader* const reader = &drafter->reader();
    if (std::find(tapped.begin(), tapped.end(), reader) == tapped.end()) continue;
    const Status status = Guarded([&] { return drafter->TakeHidden(rows); });
    if (status.ok()) {
      AddOnce(reader, waiting);
      taken = true;
    } else {
      Drop(i, status.error().message);
    }
  }
  return taken;
}

void Speculator::CountReading(double seconds) {
  for (size_t i = 0; i < drafters_.size(); ++i) {
    if (HiddenAt(i) != nullptr) stats_[i].seconds += seconds;
  }
}

void Speculator::Forget() {
  for (size_t i = 0; i < drafters_.size(); ++i) {
    if (!drafters_[i]) continue;
    const Status forgotten = Guarded([&] { drafters_[i]->Forget(); });
    if (!forgotten.ok()) ++stats_[i].failures;
  }
}

}  // namespace hunch

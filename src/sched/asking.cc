// Of SequenceBudget: which drafters with a model of their own are asked. Their passes cost
// something whatever comes of them, and what they were not asked about they have to read later.
#include <algorithm>

#include "sched/budget.h"

namespace hunch {
namespace {

// Asking must promise this much more than doing without (OverPlain); of a drafter that keeps up,
// less.
constexpr double kAskingMargin = 0.05;
constexpr double kStayingMargin = 0;
// Passes that a sure drafter may make, of those that it is expected to be worth.
constexpr int kTrustInBelief = 3;
constexpr int kLongestChain = 16;
// Over which what a model missed while it was not asked is spread.
constexpr double kStepsPerReading = 3;
// Missed savings that make the reading worth it in any case, in terms of what it costs.
constexpr double kSureReturn = 4;
// At most this share of what plain decoding would have taken so far, or so many steps of it.
constexpr double kReadingShare = 0.05;
constexpr double kSmallReading = 6;
constexpr int kStepsToWeigh = 4;      // before a prompt is read
constexpr double kStartReturn = 1.5;  // that a prompt must promise, since an answer may end early
// Probes of a drafter that does not pay: their time, of what plain decoding takes, beyond the first
// so many plain steps' worth; steps between them.
constexpr double kProbeShare = 0.02;
constexpr double kProbesAtFirst = 0.5;
constexpr int kNextProbe = 4, kLastProbe = 256;
// A probe goes on while it is this sure: two right guesses say more than one.
constexpr float kProbePath = 0.6f;
constexpr int kProbeDepth = 2;

}  // namespace

void SequenceBudget::ExpectStart(int drafter, int unread, int output_tokens, int tokens_left) {
  Asking& asking = asking_[drafter];
  asking.unread = unread;
  asking.tokens_ahead = std::min(tokens_left, std::max(output_tokens, kShortAnswer));
}

SequenceBudget::Promise SequenceBudget::PromiseOf(int drafter, const DraftTree& so_far,
                                                  const BaseRows& base, double pass) {
  ranked_.RankCalibrated(so_far, calibration_);
  const NodeCount without = ranked_.Best(shared_.cost_, base, spent_, limits_.max_nodes);
  covered_.assign(covered_.size(), 0);
  for (int i = 0; i < without.nodes; ++i) {
    const int node = ranked_.order()[i];
    covered_[std::min(ranked_.depth(node), kMostDepth)] += ranked_.path_probability(node);
  }
  // A chain of the drafter's on top. Guesses that come easily come easily to all: of two chances of
  // reaching a depth the larger one counts, not their sum.
  Promise best = {without.rate,  without.rate,  base.tokens + without.tokens, 0,
                  without.nodes, without.tokens};
  double tokens = without.tokens;
  double path = 1;
  for (int k = 1; k <= std::min(limits_.max_depth, kLongestChain); ++k) {
    path *= calibration_.Acceptance(drafter, k, AcceptanceTable::kAnyBelief);
    tokens += std::max(0.0, path - covered_[k]);
    const double seconds = shared_.PassSeconds(base.rows + without.nodes + k) + spent_ + k * pass;
    const double rate = (base.tokens + tokens) / seconds;
    if (rate > best.rate) {
      best = {without.rate, rate, base.tokens + tokens, k, without.nodes, without.tokens};
    }
  }
  return best;
}

// Whether what a drafter's model has to read before its first guess is worth it.
bool SequenceBudget::EarnsItsReading(const Asking& asking, const Promise& promise,
                                     const BaseRows& base) const {
  const double missed = asking.missed + promise.saving();
  const int weighed = asking.weighed + 1;
  const double reading = shared_.ReadingGuess(asking.id, asking.unread);
  // What is known of it is as old as that is long: no bet may cost more than a little of the whole.
  const double least = kSmallReading * shared_.PassSeconds(1);
  if (asking.started && reading > std::max(kReadingShare * plain_seconds_, least)) return false;
  // As with skis, to be rented or bought: surely once it would have paid, had it been read earlier.
  if (missed >= kSureReturn * reading) return true;
  if (asking.started) {
    // What came while it was not asked. Earlier if it pays even in this step and a few like it.
    const double seconds = promise.tokens / promise.rate + reading / kStepsPerReading;
    return promise.tokens / seconds >= OverPlain(kAskingMargin, base) * promise.rate_without;
  }
  // The prompt: a short answer's worth is taken on trust, after a few steps: in a single one the
  // free drafters may just be silent.
  const double saving = missed / weighed / promise.tokens;
  return weighed >= kStepsToWeigh && saving * asking.tokens_ahead >= kStartReturn * reading;
}

bool SequenceBudget::Pays(const Asking& asking, const Promise& promise,
                          const BaseRows& base) const {
  // One that keeps up is let go later than one that does not is taken up.
  const bool keeps_up = shared_.ReadingGuess(asking.id, asking.unread) == 0;
  const double margin = OverPlain(keeps_up ? kStayingMargin : kAskingMargin, base);
  return promise.passes > 0 && promise.rate >= margin * promise.rate_without &&
         EarnsItsReading(asking, promise, base);
}

// Probes are bounded by their time, since a model that was not asked has much to read; and they get
// rarer while they fail.
bool SequenceBudget::MayProbe(Asking& asking, const BaseRows& base, double pass) {
  if (!asking.started || asking.wait > 0) return false;
  const double cost = pass + shared_.ReadingGuess(asking.id, asking.unread) +
                      shared_.PassSeconds(base.rows + 1) - shared_.PassSeconds(base.rows);
  const double plain = shared_.PassSeconds(base.rows);
  if (probe_seconds_ + cost > kProbeShare * plain_seconds_ + kProbesAtFirst * plain) return false;
  probe_seconds_ += cost;
  return true;
}

// One more pass brings a token with the probability that all so far are right and this one too; its
// time could have brought others.
SequenceBudget::Ask SequenceBudget::AskFor(int drafter, const Promise& promise,
                                           const BaseRows& base, double pass) const {
  const int rows = base.rows + promise.passes;
  const double row = shared_.PassSeconds(rows + 1) - shared_.PassSeconds(rows);
  const double gain = calibration_.Acceptance(drafter, promise.passes, AcceptanceTable::kAnyBelief);
  return {true, static_cast<float>(std::min(0.95, promise.rate * (pass + row) / gain)),
          std::min(limits_.max_depth, kTrustInBelief * promise.passes),
          std::min(limits_.max_nodes, promise.others_nodes + promise.passes),
          promise.tokens - base.tokens};
}

SequenceBudget::Ask SequenceBudget::WouldAsk(int drafter, const DraftTree& so_far,
                                             const BaseRows& base, int sharers) {
  if (options_.policy != Policy::kGoodput) {
    const bool worth = so_far.size() < limits_.max_nodes;
    return {worth, 0, limits_.max_depth, limits_.max_nodes, 0};
  }
  if (limits_.max_nodes == 0 || guard_.holds()) return {false, 1, 0, 0, 0};
  const double pass = shared_.PassGuess(asking_[drafter].id, sharers);
  const Promise promise = PromiseOf(drafter, so_far, base, pass);
  if (!Pays(asking_[drafter], promise, base))
    return {false, 1, 0, promise.others_nodes, promise.others_tokens};
  return AskFor(drafter, promise, base, pass);
}

SequenceBudget::Ask SequenceBudget::WorthAsking(int drafter, const DraftTree& so_far,
                                                const BaseRows& base, int sharers) {
  if (options_.policy != Policy::kGoodput || limits_.max_nodes == 0 || guard_.holds()) {
    return WouldAsk(drafter, so_far, base, sharers);
  }
  Asking& asking = asking_[drafter];
  const double pass = shared_.PassGuess(asking.id, sharers);
  const Promise promise = PromiseOf(drafter, so_far, base, pass);
  const bool pays = Pays(asking, promise, base);
  asking.missed += promise.saving();
  ++asking.weighed;
  if (pays) {
    spent_ += promise.passes * pass;
    return AskFor(drafter, promise, base, pass);
  }
  // A probe says nothing where the others guess well.
  if (promise.others_nodes > 0 || !MayProbe(asking, base, pass)) {
    return {false, 1, 0, promise.others_nodes, promise.others_tokens};
  }
  asking.probed = true;
  ++probes_;
  spent_ += pass;
  return {true, kProbePath, std::min(limits_.max_depth, kProbeDepth), 1, 0};
}

// Returns what guessing cost this step, less what reading the prompt took: that is spent once, and
// was weighed before.
double SequenceBudget::LearnDrafters(std::span<const TokenId> new_tokens,
                                     std::span<const DrafterWork> work) {
  double seconds = 0;
  for (size_t drafter = 0; drafter < asking_.size(); ++drafter) {
    Asking& asking = asking_[drafter];
    const DrafterWork done = drafter < work.size() ? work[drafter] : DrafterWork{};
    if (done.passes == 0) {
      if (done.seconds > 0) shared_.ObserveDrafter(asking.id, done.seconds, 0);
      seconds += done.seconds;
      if (asking.started) asking.unread += static_cast<int>(new_tokens.size());
      asking.wait = std::max(asking.wait - 1, 0);
      continue;
    }
    seconds += LearnPasses(asking, done);
    asking.started = true;
    asking.missed = 0;
    asking.weighed = 0;
    // It has read its own right guesses, all but the last.
    asking.unread = static_cast<int>(new_tokens.size()) - std::max(asking.right - 1, 0);
    if (asking.probed) JudgeProbe(static_cast<int>(drafter));
  }
  return seconds;
}

// Prices are those of a sequence alone, whoever shared its passes; what it cost is its share.
// Returns that, without the prompt's.
double SequenceBudget::LearnPasses(Asking& asking, const DrafterWork& work) {
  const double alone = work.seconds + work.saved;
  const int guessing = std::max(work.passes - work.reading_passes, 1);
  if (asking.started) {
    const double reading = shared_.ReadingGuess(asking.id, asking.unread);
    shared_.ObserveDrafter(asking.id, alone - reading, guessing);
    return work.seconds;
  }
  if (asking.unread == 0 || shared_.DraftPassSeconds(asking.id) == 0) return 0;
  const double own = guessing * shared_.DraftPassSeconds(asking.id);
  shared_.ObserveReading(asking.id, alone - own, asking.unread);
  return alone > 0 ? work.seconds * own / alone : 0;
}

void SequenceBudget::JudgeProbe(int drafter) {
  Asking& asking = asking_[drafter];
  asking.probed = false;
  if (asking.right > 0) {
    calibration_.Doubt(drafter);
    asking.wait = kNextProbe;
    asking.next_wait = 2 * kNextProbe;
  } else {
    asking.wait = asking.next_wait;
    asking.next_wait = std::min(2 * asking.next_wait, kLastProbe);
  }
}

}  // namespace hunch

#include "sched/budget.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace hunch {
namespace {

// A tree, or asking one more drafter, must promise this much more than doing without: less is
// noise.
constexpr double kMargin = 1.02;
// The same for asking a drafter whose passes cost something whatever comes of them.
constexpr double kAskingMargin = 1.05;
constexpr double kStayingMargin = 1.0;
// Passes that a sure drafter may make, of those that it is expected to be worth.
constexpr int kTrustInBelief = 3;
// After so many trees in a row a plain step is made if nobody knows any longer what that takes.
constexpr int kTreesWithoutPlain = 8;
// Free guesses go on behind the guard (they keep the calibration fresh) while they cost less.
constexpr double kFreeShare = 0.005;
// Of a drafter whose pass was never timed, in passes of one row.
constexpr double kUnknownPass = 0.3;
// Tokens that a model reads on the way, with the first token of a guess.
constexpr int kFreeReading = 4;
// How many tokens are still to come nobody knows: as many as have come, or this.
constexpr int kShortAnswer = 64;
constexpr int kLongestChain = 16;
// Over which what a model missed while it was not asked is spread.
constexpr double kStepsPerReading = 3;
// Missed savings that make the reading worth it in any case, in terms of what it costs.
constexpr double kSureReturn = 4;
constexpr int kStepsToWeigh = 4;   // before a prompt is read
constexpr double kCostRate = 0.1;  // of an observation, for a drafter's costs
// Probes of a drafter that does not pay: their time, of what plain decoding takes, beyond the first
// so many plain steps' worth; steps between them.
constexpr double kProbeShare = 0.02;
constexpr double kProbesAtFirst = 0.5;
constexpr int kFirstProbe = 4, kLastProbe = 256, kNextProbe = 4;
// A probe goes on while it is this sure: two right guesses say more than one.
constexpr float kProbePath = 0.6f;
constexpr int kProbeDepth = 2;
constexpr int kAcceptanceTrees = 64;  // that the mean acceptance looks back on

// What an observation makes of what was known; one that is far off counts as less far.
double Corrected(double known, double seconds) {
  if (known == 0) return seconds;
  return known + kCostRate * (std::clamp(seconds, known / 1.5, known * 1.5) - known);
}

// Of its last node's path, which for a chain is all of it.
int Depth(const DraftTree& tree) {
  int depth = 0;
  for (int32_t node = tree.size() - 1; node >= 0; node = tree.parents[node]) ++depth;
  return depth;
}

std::vector<int> IdsOf(Budget& budget, const std::vector<std::string_view>& names) {
  std::vector<int> ids;
  for (const std::string_view name : names) ids.push_back(budget.DrafterId(name));
  return ids;
}

std::vector<int> IdsOf(Budget& budget, int count) {
  std::vector<int> ids;
  for (int i = 0; i < count; ++i) ids.push_back(budget.DrafterId("#" + std::to_string(i)));
  return ids;
}

}  // namespace

Budget::Budget(CostCurve measured) : cost_(measured) {}

int Budget::DrafterId(std::string_view name) {
  for (size_t id = 0; id < drafters_.size(); ++id) {
    if (drafters_[id].name == name) return static_cast<int>(id);
  }
  drafters_.push_back({.name = std::string(name)});
  return static_cast<int>(drafters_.size()) - 1;
}

void Budget::SetDrafterCost(int id, double pass_seconds, double prompt_token_seconds) {
  drafters_[id].pass_seconds = pass_seconds;
  drafters_[id].prompt_token_seconds = prompt_token_seconds;
}

void Budget::ObserveDrafter(int id, const DrafterWork& work) {
  DrafterCost& cost = drafters_[id];
  double& known = work.passes > 0 ? cost.pass_seconds : cost.call_seconds;
  known = Corrected(known, std::max(work.seconds, 0.0) / std::max(work.passes, 1));
}

void Budget::ObserveReading(int id, double seconds, int tokens) {
  double& known = drafters_[id].prompt_token_seconds;
  known = Corrected(known, std::max(seconds, 0.0) / tokens);
}

double Budget::PassGuess(int id) const {
  const double known = drafters_[id].pass_seconds;
  return known > 0 ? known : kUnknownPass * PassSeconds(1);
}

double Budget::ReadingGuess(int id, int tokens) const {
  if (tokens <= kFreeReading) return 0;
  constexpr int kRows = 64;
  const double known = drafters_[id].prompt_token_seconds;
  // Its model's rows are to its pass what the target's are to the target's.
  const double guess = PassGuess(id) * PassSeconds(kRows) / (kRows * PassSeconds(1));
  return (tokens - kFreeReading) * (known > 0 ? known : guess);
}

SequenceBudget::SequenceBudget(Budget& shared, const BudgetOptions& options, float temperature,
                               std::vector<int> ids)
    : shared_(shared),
      options_(options),
      calibration_(shared.calibration_, ids, temperature),
      covered_(kMostDepth + 1) {
  for (const int id : ids) {
    Asking& asking = asking_.emplace_back();
    asking.id = id;
    asking.wait = kFirstProbe;
    asking.next_wait = 2 * kFirstProbe;
    asking.tokens_ahead = kShortAnswer;
  }
}

SequenceBudget::SequenceBudget(Budget& shared, const BudgetOptions& options,
                               const std::vector<std::string_view>& drafters, float temperature)
    : SequenceBudget(shared, options, temperature, IdsOf(shared, drafters)) {}

SequenceBudget::SequenceBudget(Budget& shared, const BudgetOptions& options, int drafters,
                               float temperature)
    : SequenceBudget(shared, options, temperature, IdsOf(shared, drafters)) {}

// Of the policies that look at no cost.
int SequenceBudget::ConstantNodes() const {
  if (options_.policy == Policy::kFixed) return options_.fixed_nodes;
  if (trees_ == 0) return 5;
  return mean_acceptance_ > 0.8 ? 8 : mean_acceptance_ > 0.6 ? 5 : 2;
}

SequenceBudget::Limits SequenceBudget::DraftLimits(int base_rows, int max_nodes, int max_depth) {
  spent_ = 0;
  chosen_depth_ = 0;
  chosen_tokens_ = 0;
  limits_ = {0, 0};
  if (max_nodes <= 0 || max_depth <= 0) return limits_;
  if (options_.policy != Policy::kGoodput) {
    const int nodes = std::min(max_nodes, ConstantNodes());
    return limits_ = {nodes, std::min(max_depth, nodes)};
  }
  if (trees_in_a_row_ >= kTreesWithoutPlain && shared_.cost_.Stale(base_rows)) return limits_;
  for (const Asking& asking : asking_) spent_ += shared_.drafters_[asking.id].call_seconds;
  if (guard_.holds() && spent_ > kFreeShare * shared_.PassSeconds(base_rows)) return limits_;
  // More than what would pay if every guess was right is of no use.
  int most = 1;
  const auto rate = [&](int m) { return (base_rows + m) / shared_.PassSeconds(base_rows + m); };
  for (int m = 2; m <= max_nodes; ++m) {
    if (rate(m) > rate(most)) most = m;
  }
  return limits_ = {most, std::min({max_depth, most, kMostDepth})};
}

void SequenceBudget::ExpectStart(int drafter, int prompt_tokens, int output_tokens,
                                 int tokens_left) {
  Asking& asking = asking_[drafter];
  asking.unread = prompt_tokens + output_tokens;
  asking.tokens_ahead = std::min(tokens_left, std::max(output_tokens, kShortAnswer));
}

SequenceBudget::Promise SequenceBudget::PromiseOf(int drafter, const DraftTree& so_far,
                                                  int base_rows) {
  ranked_.RankCalibrated(so_far, calibration_);
  const NodeCount without = ranked_.Best(shared_.cost_, base_rows, spent_, limits_.max_nodes);
  covered_.assign(covered_.size(), 0);
  for (int i = 0; i < without.nodes; ++i) {
    const int node = ranked_.order()[i];
    covered_[std::min(ranked_.depth(node), kMostDepth)] += ranked_.path_probability(node);
  }
  // A chain of the drafter's on top. Guesses that come easily come easily to all: of two chances of
  // reaching a depth the larger one counts, not their sum.
  const Asking& asking = asking_[drafter];
  const double pass = shared_.PassGuess(asking.id);
  Promise best = {without.rate, without.rate, base_rows + without.tokens, 0, without.nodes == 0};
  double tokens = without.tokens;
  double path = 1;
  for (int k = 1; k <= std::min(limits_.max_depth, kLongestChain); ++k) {
    path *= calibration_.Acceptance(drafter, k, AcceptanceTable::kAnyBelief);
    tokens += std::max(0.0, path - covered_[k]);
    const double seconds = shared_.PassSeconds(base_rows + without.nodes + k) + spent_ + k * pass;
    const double rate = (base_rows + tokens) / seconds;
    if (rate > best.rate) best = {without.rate, rate, base_rows + tokens, k, best.others_silent};
  }
  return best;
}

// Whether what a drafter's model has to read before its first guess is worth it.
bool SequenceBudget::EarnsItsReading(Asking& asking, const Promise& promise) const {
  asking.missed += promise.saving();
  ++asking.weighed;
  const double reading = shared_.ReadingGuess(asking.id, asking.unread);
  // As with skis, to be rented or bought: surely once it would have paid, had it been read earlier.
  if (asking.missed >= kSureReturn * reading) return true;
  if (asking.started) {
    // What came while it was not asked. Earlier if it pays even in this step and a few like it.
    const double seconds = promise.tokens / promise.rate + reading / kStepsPerReading;
    return promise.tokens / seconds >= kAskingMargin * promise.rate_without;
  }
  // The prompt: a short answer's worth is taken on trust, after a few steps: in a single one the
  // free drafters may just be silent.
  const double saving = asking.missed / asking.weighed / promise.tokens;
  return asking.weighed >= kStepsToWeigh && saving * asking.tokens_ahead >= reading;
}

// Probes are bounded by their time, since a model that was not asked has much to read; and they get
// rarer while they fail.
bool SequenceBudget::MayProbe(Asking& asking, int base_rows) {
  if (!asking.started || asking.wait > 0) return false;
  const double cost = shared_.PassGuess(asking.id) +
                      shared_.ReadingGuess(asking.id, asking.unread) +
                      shared_.PassSeconds(base_rows + 1) - shared_.PassSeconds(base_rows);
  const double plain = shared_.PassSeconds(base_rows);
  if (probe_seconds_ + cost > kProbeShare * plain_seconds_ + kProbesAtFirst * plain) return false;
  probe_seconds_ += cost;
  return true;
}

SequenceBudget::Ask SequenceBudget::WorthAsking(int drafter, const DraftTree& so_far,
                                                int base_rows) {
  if (options_.policy != Policy::kGoodput)
    return {so_far.size() < limits_.max_nodes, 0, limits_.max_depth};
  if (limits_.max_nodes == 0 || guard_.holds()) return {false, 1, 0};
  Asking& asking = asking_[drafter];
  const Promise promise = PromiseOf(drafter, so_far, base_rows);
  const double pass = shared_.PassGuess(asking.id);
  const bool earned = EarnsItsReading(asking, promise);
  // One that keeps up is let go later than one that does not is taken up.
  const double margin = asking.unread <= kFreeReading ? kStayingMargin : kAskingMargin;
  if (promise.passes == 0 || promise.rate < margin * promise.rate_without || !earned) {
    if (!promise.others_silent || !MayProbe(asking, base_rows)) return {false, 1, 0};
    asking.probed = true;
    ++probes_;
    spent_ += pass;
    return {true, kProbePath, std::min(limits_.max_depth, kProbeDepth)};
  }
  spent_ += promise.passes * pass;
  // One more pass brings a token with the probability that all so far are right and this one too;
  // its time could have brought others.
  const int rows = base_rows + promise.passes;
  const double row = shared_.PassSeconds(rows + 1) - shared_.PassSeconds(rows);
  const double gain = calibration_.Acceptance(drafter, promise.passes, AcceptanceTable::kAnyBelief);
  return {true, static_cast<float>(std::min(0.95, promise.rate * (pass + row) / gain)),
          std::min(limits_.max_depth, kTrustInBelief * promise.passes)};
}

void SequenceBudget::Prune(int base_rows, DraftTree& tree) {
  int nodes = 0;
  if (options_.policy != Policy::kGoodput) {
    ranked_.RankByBelief(tree);
    nodes = std::min(tree.size(), limits_.max_nodes);
  } else if (!guard_.holds() && !tree.empty()) {
    ranked_.RankCalibrated(tree, calibration_);
    const NodeCount best = ranked_.Best(shared_.cost_, base_rows, spent_, limits_.max_nodes);
    const double plain = base_rows / (shared_.PassSeconds(base_rows) + spent_);
    if (best.rate >= kMargin * plain) nodes = best.nodes;
    chosen_tokens_ = best.tokens;
    for (int node = 0; node < tree.size(); ++node) {
      tree.probabilities[node] = ranked_.acceptance(node);
    }
  }
  for (int i = 0; i < nodes; ++i) {
    chosen_depth_ = std::max(chosen_depth_, ranked_.depth(ranked_.order()[i]));
  }
  if (nodes == 0) {
    tree.clear();
  } else {
    ranked_.Keep(nodes, tree);
  }
}

void SequenceBudget::Learn(std::span<const DraftTree> proposed, int verified,
                           std::span<const TokenId> new_tokens, int rows, double pass_seconds,
                           std::span<const DrafterWork> work) {
  const int base_rows = std::max(rows - verified, 1);
  const double plain = shared_.PassSeconds(base_rows);
  for (Asking& asking : asking_) asking.tested = false;
  for (Asking& asking : asking_) asking.right = 0;
  for (const DraftTree& tree : proposed) TestGuesses(tree, new_tokens);
  for (size_t drafter = 0; drafter < asking_.size(); ++drafter) {
    if (asking_[drafter].tested) calibration_.NextStep(static_cast<int>(drafter));
  }
  const double draft_seconds = LearnDrafters(new_tokens, work);
  plain_seconds_ += plain * static_cast<double>(new_tokens.size()) / base_rows;
  double excess = draft_seconds / plain;
  if (verified > 0) {
    const size_t accepted = new_tokens.empty() ? 0 : new_tokens.size() - 1;
    // A tree with drawn nodes is verified as it was proposed.
    if (chosen_depth_ == 0) {
      for (const DraftTree& tree : proposed) chosen_depth_ = std::max(chosen_depth_, Depth(tree));
    }
    LearnAcceptance(accepted);
    if (options_.policy == Policy::kGoodput) predicted_tokens_ += 1 + chosen_tokens_;
    // A pass that hung says nothing about guessing.
    const double seconds = std::min(pass_seconds, 2 * shared_.PassSeconds(rows));
    excess += seconds / plain - 1 - static_cast<double>(accepted) / base_rows;
    ++trees_in_a_row_;
  } else {
    trees_in_a_row_ = 0;
  }
  if (options_.policy == Policy::kGoodput) guard_.Count(excess);
}

// A node is tested when its ancestors are among the new tokens and another token follows them,
// whether it rode in the pass or not: so the free drafters are learned about in plain steps as
// well, and no row is spent on it.
void SequenceBudget::TestGuesses(const DraftTree& proposed, std::span<const TokenId> new_tokens) {
  const int nodes = proposed.size();
  on_path_.assign(nodes, 0);
  ranked_.RankByBelief(proposed);  // for the depths
  const auto elder_accepted = [&](int node) {
    for (int elder = 0; elder < node; ++elder) {
      if (on_path_[elder] && proposed.parents[elder] == proposed.parents[node]) return true;
    }
    return false;
  };
  for (int node = 0; node < nodes; ++node) {
    const int32_t parent = proposed.parents[node];
    const size_t depth = ranked_.depth(node);
    if (depth > new_tokens.size() || (parent >= 0 && !on_path_[parent])) continue;
    // Drawn without replacement: looked at only when its elder siblings were refused.
    if (proposed.laws[node] != DraftTree::kCertain && elder_accepted(node)) continue;
    const bool right = proposed.tokens[node] == new_tokens[depth - 1];
    on_path_[node] = right;
    const int source = proposed.sources[node];
    HUNCH_CHECK_LT(source, static_cast<int>(asking_.size()));
    calibration_.Add(source, static_cast<int>(depth), proposed.probabilities[node], right);
    asking_[source].tested = true;
    if (right) asking_[source].right = std::max(asking_[source].right, static_cast<int>(depth));
  }
}

// Returns what guessing cost this step, less what reading the prompt took: that is spent once, and
// was weighed before.
double SequenceBudget::LearnDrafters(std::span<const TokenId> new_tokens,
                                     std::span<const DrafterWork> work) {
  constexpr int kRowsOfAPass = 256;  // in which a prompt is read, about
  double seconds = 0;
  for (size_t drafter = 0; drafter < asking_.size(); ++drafter) {
    Asking& asking = asking_[drafter];
    const DrafterWork done = drafter < work.size() ? work[drafter] : DrafterWork{};
    if (done.passes == 0) {
      if (done.seconds > 0) shared_.ObserveDrafter(asking.id, done);
      seconds += done.seconds;
      if (asking.started) asking.unread += static_cast<int>(new_tokens.size());
      asking.wait = std::max(asking.wait - 1, 0);
      continue;
    }
    if (asking.started) {
      const double reading = shared_.ReadingGuess(asking.id, asking.unread);
      shared_.ObserveDrafter(asking.id, {done.seconds - reading, done.passes});
      seconds += done.seconds;
    } else if (asking.unread > 0 && shared_.DraftPassSeconds(asking.id) > 0) {
      const int guessing = std::max(done.passes - asking.unread / kRowsOfAPass, 1);
      const double own = guessing * shared_.DraftPassSeconds(asking.id);
      shared_.ObserveReading(asking.id, done.seconds - own, asking.unread);
      seconds += own;
    }
    asking.started = true;
    asking.missed = 0;
    asking.weighed = 0;
    // It has read its own right guesses, all but the last.
    asking.unread = static_cast<int>(new_tokens.size()) - std::max(asking.right - 1, 0);
    if (asking.probed) JudgeProbe(static_cast<int>(drafter));
  }
  return seconds;
}

void SequenceBudget::JudgeProbe(int drafter) {
  Asking& asking = asking_[drafter];
  asking.probed = false;
  if (asking.right > 0) {
    calibration_.Doubt(drafter);
    asking.wait = kNextProbe;
    asking.next_wait = 2 * kFirstProbe;
  } else {
    asking.wait = asking.next_wait;
    asking.next_wait = std::min(2 * asking.next_wait, kLastProbe);
  }
}

void SequenceBudget::LearnAcceptance(size_t accepted) {
  ++trees_;
  const double share = static_cast<double>(accepted) / std::max(chosen_depth_, 1);
  const double count = std::min<double>(static_cast<double>(trees_), kAcceptanceTrees);
  mean_acceptance_ += (std::min(share, 1.0) - mean_acceptance_) / count;
  if (trees_ >= kAcceptanceTrees && mean_acceptance_ < options_.acceptance_warning && !warned_) {
    warned_ = warning_ = true;
  }
}

bool SequenceBudget::TakeWarning() { return std::exchange(warning_, false); }

}  // namespace hunch

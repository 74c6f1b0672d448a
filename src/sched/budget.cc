#include "sched/budget.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace hunch {
namespace {

// A tree must promise this much more than the plain path (OverPlain): less is noise.
constexpr double kMargin = 0.02;
// After so many trees in a row a plain step is made if nobody knows any longer what that takes.
constexpr int kTreesWithoutPlain = 8;
// Free guesses go on behind the guard (they keep the calibration fresh) while they cost less.
constexpr double kFreeShare = 0.005;
// Tokens that a model reads on the way, with the first token of a guess.
constexpr int kFreeReading = 4;
constexpr double kCostRate = 0.1;     // of an observation, for a drafter's costs
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

void Budget::SetDrafterShare(int id, double pass_share) { drafters_[id].pass_share = pass_share; }

// What the pass would have taken alone: as the target's passes grow with rows, so do a draft
// model's.
void Budget::AddPass(int own, int rows, double seconds, DrafterWork& work) const {
  const double share = seconds * own / rows;
  work.seconds += share;
  work.saved += seconds * PassSeconds(own) / PassSeconds(rows) - share;
  ++work.passes;
}

void Budget::ObserveDrafter(int id, double seconds, int passes) {
  DrafterCost& cost = drafters_[id];
  double& known = passes > 0 ? cost.pass_seconds : cost.call_seconds;
  known = Corrected(known, std::max(seconds, 0.0) / std::max(passes, 1));
}

void Budget::ObserveReading(int id, double seconds, int tokens) {
  double& known = drafters_[id].prompt_token_seconds;
  known = Corrected(known, std::max(seconds, 0.0) / tokens);
}

double Budget::PassGuess(int id, int sharers) const {
  const double known = drafters_[id].pass_seconds;
  const double alone = known > 0 ? known : drafters_[id].pass_share * PassSeconds(1);
  return alone * PassSeconds(sharers) / (sharers * PassSeconds(1));
}

double Budget::ReadingGuess(int id, int tokens) const {
  if (tokens <= kFreeReading) return 0;
  constexpr int kRows = 64;
  const double known = drafters_[id].prompt_token_seconds;
  // Its model's rows are to its pass what the target's are to the target's.
  const double guess = PassGuess(id, 1) * PassSeconds(kRows) / (kRows * PassSeconds(1));
  return (tokens - kFreeReading) * (known > 0 ? known : guess);
}

SequenceBudget::SequenceBudget(Budget& shared, const BudgetOptions& options, float temperature,
                               std::vector<int> ids)
    : shared_(shared),
      options_(options),
      calibration_(shared.calibration_, ids, temperature),
      covered_(kMostDepth + 1) {
  for (const int id : ids) {
    asking_.emplace_back().id = id;
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

SequenceBudget::Limits SequenceBudget::DraftLimits(const BaseRows& base, int max_nodes,
                                                   int max_depth) {
  spent_ = 0;
  chosen_depth_ = 0;
  chosen_tokens_ = 0;
  limits_ = {0, 0};
  if (max_nodes <= 0 || max_depth <= 0) return limits_;
  if (options_.policy != Policy::kGoodput) {
    const int nodes = std::min(max_nodes, ConstantNodes());
    return limits_ = {nodes, std::min(max_depth, nodes)};
  }
  // Of a batch's sequences each has trees of its own: none can make a plain pass alone.
  if (base.rows == 1 && trees_in_a_row_ >= kTreesWithoutPlain && shared_.cost_.Stale(1)) {
    return limits_;
  }
  for (const Asking& asking : asking_) spent_ += shared_.drafters_[asking.id].call_seconds;
  if (guard_.holds() && spent_ > kFreeShare * shared_.PassSeconds(base.rows)) return limits_;
  // More than what would pay if every guess was right is of no use.
  int most = 1;
  const auto rate = [&](int m) { return (base.tokens + m) / shared_.PassSeconds(base.rows + m); };
  for (int m = 2; m <= max_nodes; ++m) {
    if (rate(m) > rate(most)) most = m;
  }
  return limits_ = {most, std::min({max_depth, most, kMostDepth})};
}

void SequenceBudget::Prune(const BaseRows& base, DraftTree& tree) {
  int nodes = 0;
  if (options_.policy != Policy::kGoodput) {
    ranked_.RankByBelief(tree);
    nodes = std::min(tree.size(), limits_.max_nodes);
  } else if (!guard_.holds() && !tree.empty()) {
    ranked_.RankCalibrated(tree, calibration_);
    const NodeCount best = ranked_.Best(shared_.cost_, base, spent_, limits_.max_nodes);
    const double plain = base.tokens / (shared_.PassSeconds(base.rows) + spent_);
    if (best.rate >= OverPlain(kMargin, base) * plain) nodes = best.nodes;
    chosen_tokens_ = nodes == 0 ? 0 : best.tokens;
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

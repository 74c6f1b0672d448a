#include "sched/tree_choice.h"

#include <algorithm>

#include "base/check.h"

namespace hunch {

void RankedTree::Measure(const DraftTree& tree) {
  depth_.resize(tree.size());
  acceptance_.resize(tree.size());
  for (int node = 0; node < tree.size(); ++node) {
    const int32_t parent = tree.parents[node];
    HUNCH_CHECK_LT(parent, node);
    depth_[node] = parent < 0 ? 1 : depth_[parent] + 1;
  }
}

void RankedTree::RankByBelief(const DraftTree& tree) {
  Measure(tree);
  for (int node = 0; node < tree.size(); ++node) {
    const float belief = tree.probabilities[node];
    acceptance_[node] = belief >= 0 ? std::min(belief, 1.0f) : 0.0f;  // not a number: 0
  }
  Sort(tree);
}

void RankedTree::RankCalibrated(const DraftTree& tree, const Calibration& calibration) {
  Measure(tree);
  for (int node = 0; node < tree.size(); ++node) {
    const bool drawn = tree.laws[node] != DraftTree::kCertain;
    const float belief = drawn ? AcceptanceTable::kAnyBelief : tree.probabilities[node];
    acceptance_[node] = calibration.Acceptance(tree.sources[node], depth_[node], belief);
    if (!drawn) continue;
    // It is looked at only when its elder siblings were refused.
    for (int elder = 0; elder < node; ++elder) {
      if (tree.parents[elder] == tree.parents[node] && tree.laws[elder] == tree.laws[node])
        acceptance_[node] *= 1 - acceptance_[elder];
    }
  }
  CapSiblings(tree);
  Sort(tree);
}

void RankedTree::CapSiblings(const DraftTree& tree) {
  const int nodes = tree.size();
  sums_.assign(nodes + 1, 0);
  const auto sum = [&](int node) -> float& {
    return sums_[tree.parents[node] < 0 ? nodes : tree.parents[node]];
  };
  for (int node = 0; node < nodes; ++node) sum(node) += acceptance_[node];
  for (int node = 0; node < nodes; ++node) acceptance_[node] /= std::max(1.0f, sum(node));
}

void RankedTree::Sort(const DraftTree& tree) {
  const int nodes = tree.size();
  path_.resize(nodes);
  order_.resize(nodes);
  for (int node = 0; node < nodes; ++node) {
    const int32_t parent = tree.parents[node];
    path_[node] = acceptance_[node] * (parent < 0 ? 1.0f : path_[parent]);
    order_[node] = node;
  }
  std::sort(order_.begin(), order_.end(), [&](int32_t a, int32_t b) {
    return path_[a] != path_[b] ? path_[a] > path_[b] : a < b;
  });
}

NodeCount RankedTree::Best(const PassCost& cost, const BaseRows& base, double spent,
                           int max_nodes) const {
  NodeCount best = {0, 0, base.tokens / (cost.Seconds(base.rows) + spent)};
  double tokens = 0;
  for (int m = 1; m <= std::min(size(), max_nodes); ++m) {
    tokens += path_[order_[m - 1]];
    const double rate = (base.tokens + tokens) / (cost.Seconds(base.rows + m) + spent);
    if (rate > best.rate) best = {m, tokens, rate};
  }
  return best;
}

void RankedTree::Keep(int nodes, DraftTree& tree) {
  place_.assign(tree.size(), -1);
  for (int i = 0; i < nodes; ++i) place_[order_[i]] = 0;
  int kept = 0;
  for (int node = 0; node < tree.size(); ++node) {
    if (place_[node] < 0) continue;
    const int32_t parent = tree.parents[node];
    tree.tokens[kept] = tree.tokens[node];
    tree.parents[kept] = parent < 0 ? -1 : place_[parent];
    tree.probabilities[kept] = tree.probabilities[node];
    tree.sources[kept] = tree.sources[node];
    tree.laws[kept] = tree.laws[node];
    place_[node] = kept++;
  }
  tree.tokens.resize(kept);
  tree.parents.resize(kept);
  tree.probabilities.resize(kept);
  tree.sources.resize(kept);
  tree.laws.resize(kept);
}

}  // namespace hunch

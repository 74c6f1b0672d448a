// Which nodes of a tree are worth rows of the target: nodes in order of path probability, as many
// as make tokens per second largest. Not thread safe (scratch; nothing is allocated once trees have
// had their size).
#ifndef HUNCH_SCHED_TREE_CHOICE_H_
#define HUNCH_SCHED_TREE_CHOICE_H_

#include <span>
#include <vector>

#include "sched/calibration.h"
#include "sched/pass_cost.h"
#include "seq/types.h"

namespace hunch {

// Room for a step's guesses.
inline constexpr int kMostDepth = 64;

// How many nodes, in the order of a RankedTree, and what comes of them.
struct NodeCount {
  int nodes = 0;
  double tokens = 0;  // expected accepted guesses
  double rate = 0;    // expected tokens per second, of the whole pass
};

// What a step's pass has without a sequence's guesses.
struct BaseRows {
  // One token each.
  BaseRows(int row_count) : rows(row_count), tokens(row_count) {}  // NOLINT: implicit
  BaseRows(int row_count, double token_count) : rows(row_count), tokens(token_count) {}
  int rows;  // >= 1
  // That they bring: one for each sequence that gives one, and of the others' guesses those that
  // are expected to be accepted. > 0.
  double tokens;
};

class RankedTree {
 public:
  // Takes the tree's beliefs as they stand.
  void RankByBelief(const DraftTree& tree);
  // Takes them through the calibration. Siblings add up to at most 1. A node that was drawn at
  // random from a law gets what its drafter's guesses are worth at this depth, whatever was drawn:
  // if the choice of nodes looked at the draw, the rule `ratio` would no longer be exact.
  void RankCalibrated(const DraftTree& tree, const Calibration& calibration);

  int size() const { return static_cast<int>(order_.size()); }
  // Of a node, given its parent.
  float acceptance(int node) const { return acceptance_[node]; }
  // That it and all its ancestors are accepted.
  float path_probability(int node) const { return path_[node]; }
  int depth(int node) const { return depth_[node]; }  // of a root: 1
  // Nodes by descending path probability, parents before their children.
  std::span<const int32_t> order() const { return order_; }

  // The best number of nodes on top of `base`, where `spent` seconds have gone into guessing
  // already. The tokens of the other sequences wait as well: so guesses pay less as the batch
  // fills.
  NodeCount Best(const PassCost& cost, const BaseRows& base, double spent, int max_nodes) const;
  // Removes all but the first `nodes` of the order. The rest keep their order in the tree.
  void Keep(int nodes, DraftTree& tree);

 private:
  void Measure(const DraftTree& tree);
  void CapSiblings(const DraftTree& tree);
  void Sort(const DraftTree& tree);

  std::vector<int> depth_;         // [nodes]
  std::vector<float> acceptance_;  // [nodes]
  std::vector<float> path_;        // [nodes]
  std::vector<float> sums_;        // [nodes + 1]: of the children of each, roots last
  std::vector<int32_t> order_;     // [nodes]
  std::vector<int32_t> place_;     // [nodes]: index after Keep; -1: removed
};

}  // namespace hunch

#endif  // HUNCH_SCHED_TREE_CHOICE_H_

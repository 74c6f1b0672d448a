// What must hold of any drafter's tree.
#ifndef HUNCH_TESTS_DRAFT_TREE_CHECKS_H_
#define HUNCH_TESTS_DRAFT_TREE_CHECKS_H_

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "draft/drafter.h"

namespace hunch {

// The tokens from the root to each node, in the order of the nodes.
inline std::vector<std::vector<TokenId>> PathsOf(const DraftTree& tree) {
  std::vector<std::vector<TokenId>> paths;
  for (int node = 0; node < tree.size(); ++node) {
    std::vector<TokenId> path;
    if (tree.parents[node] >= 0) path = paths[static_cast<size_t>(tree.parents[node])];
    path.push_back(tree.tokens[node]);
    paths.push_back(path);
  }
  return paths;
}

// The invariants of DraftTree, the limits, and that the nodes come in order of path probability.
inline void ExpectSound(const DraftTree& tree, const ProposeLimits& limits) {
  const auto size = static_cast<size_t>(tree.size());
  ASSERT_EQ(tree.parents.size(), size);
  ASSERT_EQ(tree.probabilities.size(), size);
  ASSERT_EQ(tree.sources.size(), size);
  ASSERT_EQ(tree.laws.size(), size);
  ASSERT_LE(tree.size(), std::max(0, limits.max_nodes));
  std::set<std::pair<int32_t, TokenId>> siblings;
  std::vector<float> paths;
  for (int node = 0; node < tree.size(); ++node) {
    const int32_t parent = tree.parents[node];
    ASSERT_GE(parent, -1);
    ASSERT_LT(parent, node);
    ASSERT_TRUE(siblings.emplace(parent, tree.tokens[node]).second) << node;
    ASSERT_GT(tree.probabilities[node], 0);
    ASSERT_LE(tree.probabilities[node], 1);
    paths.push_back(tree.probabilities[node] * (parent < 0 ? 1 : paths[parent]));
    EXPECT_GE(paths[node], limits.min_path_probability);
    if (node > 0) {
      EXPECT_LE(paths[node], paths[node - 1]);
    }
  }
  for (const auto& path : PathsOf(tree)) EXPECT_LE(static_cast<int>(path.size()), limits.max_depth);
}

inline void ExpectSiblingsSumToAtMostOne(const DraftTree& tree) {
  std::map<int32_t, float> sums;
  for (int node = 0; node < tree.size(); ++node)
    sums[tree.parents[node]] += tree.probabilities[node];
  for (const auto& [parent, sum] : sums) EXPECT_LE(sum, 1.0001f) << parent;
}

}  // namespace hunch

#endif  // HUNCH_TESTS_DRAFT_TREE_CHECKS_H_

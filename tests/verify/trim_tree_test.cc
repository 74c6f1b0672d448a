// Tests of TrimTree: each kind of damage, and the invariants after any.
#include "verify/trim_tree.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <utility>
#include <vector>

namespace hunch {
namespace {

int TrimTree(int max_nodes, int max_depth, int vocab_size, DraftTree& tree) {
  return TreeTrimmer().Trim(max_nodes, max_depth, vocab_size, tree);
}

constexpr int kVocab = 50;

DraftTree Tree(std::vector<TokenId> tokens, std::vector<int32_t> parents) {
  DraftTree tree;
  tree.probabilities.assign(tokens.size(), 0.5f);
  tree.tokens = std::move(tokens);
  tree.parents = std::move(parents);
  return tree;
}

void ExpectTree(const DraftTree& tree, const std::vector<TokenId>& tokens,
                const std::vector<int32_t>& parents) {
  EXPECT_EQ(tree.tokens, tokens);
  EXPECT_EQ(tree.parents, parents);
  EXPECT_EQ(tree.probabilities.size(), tokens.size());
}

TEST(TrimTreeTest, LeavesAGoodTreeAlone) {
  DraftTree tree = Tree({1, 2, 3, 2}, {-1, -1, 0, 0});
  EXPECT_EQ(TrimTree(4, 2, kVocab, tree), 0);
  ExpectTree(tree, {1, 2, 3, 2}, {-1, -1, 0, 0});
}

TEST(TrimTreeTest, CutsNodesAndDepth) {
  DraftTree tree = Tree({1, 2, 3, 4}, {-1, 0, 1, -1});
  EXPECT_EQ(TrimTree(10, 2, kVocab, tree), 1);
  ExpectTree(tree, {1, 2, 4}, {-1, 0, -1});
  EXPECT_EQ(TrimTree(2, 9, kVocab, tree), 1);
  ExpectTree(tree, {1, 2}, {-1, 0});
  EXPECT_EQ(TrimTree(2, 0, kVocab, tree), 2);
  ExpectTree(tree, {}, {});
}

TEST(TrimTreeTest, RemovesBadTokensWithWhatHangsBelow) {
  DraftTree tree = Tree({kVocab, 1, -1, 2, 3}, {-1, 0, -1, 1, -1});
  EXPECT_EQ(TrimTree(9, 9, kVocab, tree), 4);
  ExpectTree(tree, {3}, {-1});
}

TEST(TrimTreeTest, RemovesBadParents) {
  DraftTree tree = Tree({1, 2, 3, 4}, {0, -2, 5, -1});
  EXPECT_EQ(TrimTree(9, 9, kVocab, tree), 3);
  ExpectTree(tree, {4}, {-1});
}

TEST(TrimTreeTest, RemovesRepeatedSiblingsButNotCousins) {
  DraftTree tree = Tree({1, 1, 2, 2}, {-1, -1, 0, -1});
  EXPECT_EQ(TrimTree(9, 9, kVocab, tree), 1);
  ExpectTree(tree, {1, 2, 2}, {-1, 0, -1});
}

TEST(TrimTreeTest, CutsArraysOfUnequalLength) {
  DraftTree tree = Tree({1, 2, 3}, {-1, 0});
  EXPECT_EQ(TrimTree(9, 9, kVocab, tree), 1);
  ExpectTree(tree, {1, 2}, {-1, 0});
}

TEST(TrimTreeTest, AnyTreeComesOutWhole) {
  std::mt19937 random(1);
  const auto number = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<uint32_t>(high - low + 1));
  };
  int kept = 0;
  for (int round = 0; round < 2000; ++round) {
    DraftTree tree;
    // Mostly well formed, with some nonsense.
    for (int node = 0; node < number(0, 20); ++node) {
      const bool bad_token = number(0, 9) == 0, bad_parent = number(0, 9) == 0;
      tree.Add(bad_token ? number(-100, 100) : number(0, 6),
               bad_parent ? number(-5, 25) : number(-1, node - 1), 0.5f);
    }
    const int max_nodes = number(0, 12), max_depth = number(0, 5);
    TrimTree(max_nodes, max_depth, kVocab, tree);
    kept += tree.size();
    ASSERT_LE(tree.size(), max_nodes);
    ASSERT_EQ(tree.parents.size(), tree.tokens.size());
    ASSERT_EQ(tree.probabilities.size(), tree.tokens.size());
    std::vector<int> depth;
    std::set<std::pair<int32_t, TokenId>> edges;
    for (int node = 0; node < tree.size(); ++node) {
      const int32_t parent = tree.parents[node];
      ASSERT_GE(parent, -1);
      ASSERT_LT(parent, node);
      ASSERT_GE(tree.tokens[node], 0);
      ASSERT_LT(tree.tokens[node], kVocab);
      depth.push_back(parent < 0 ? 1 : depth[parent] + 1);
      ASSERT_LE(depth.back(), max_depth);
      ASSERT_TRUE(edges.emplace(parent, tree.tokens[node]).second);
    }
  }
  EXPECT_GT(kept, 2000);
}

}  // namespace
}  // namespace hunch

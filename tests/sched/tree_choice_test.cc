#include "sched/tree_choice.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hunch {
namespace {

PassCost CostOf(const std::vector<PassTime>& times) { return PassCost(CostCurve(times)); }

TEST(RankedTree, OrdersByPathProbabilityParentsFirst) {
  DraftTree tree;
  tree.Add(10, -1, 0.5f);
  tree.Add(11, -1, 0.4f);
  tree.Add(12, 1, 1.0f);  // as likely as its parent
  tree.Add(13, 0, 0.9f);
  RankedTree ranked;
  ranked.RankByBelief(tree);
  EXPECT_EQ(std::vector<int32_t>(ranked.order().begin(), ranked.order().end()),
            (std::vector<int32_t>{0, 3, 1, 2}));
  EXPECT_FLOAT_EQ(ranked.path_probability(3), 0.45f);
  EXPECT_EQ(ranked.depth(2), 2);
}

TEST(RankedTree, KeepsAllArraysInLine) {
  DraftTree tree;
  tree.Add(10, -1, 0.2f, 0, 1);
  tree.Add(11, -1, 0.8f, 1, 2);
  tree.Add(12, 0, 0.9f, 2, 1);
  tree.Add(13, 1, 0.7f, 3, 0);
  RankedTree ranked;
  ranked.RankByBelief(tree);
  ranked.Keep(2, tree);
  EXPECT_EQ(tree.tokens, (std::vector<TokenId>{11, 13}));
  EXPECT_EQ(tree.parents, (std::vector<int32_t>{-1, 0}));
  EXPECT_EQ(tree.probabilities, (std::vector<float>{0.8f, 0.7f}));
  EXPECT_EQ(tree.sources, (std::vector<uint8_t>{2, 0}));
  EXPECT_EQ(tree.laws, (std::vector<int32_t>{1, 3}));
}

TEST(RankedTree, TakesNodesWhileTheyAddTokensPerSecond) {
  DraftTree chain;
  for (int i = 0; i < 8; ++i) chain.Add(i, i - 1, 0.8f);
  RankedTree ranked;
  ranked.RankByBelief(chain);
  const PassCost flat = CostOf({{1, 1}, {2, 1}, {4, 1}, {9, 1}});
  EXPECT_EQ(ranked.Best(flat, 1, 0, 64).nodes, 8) << "rows that cost nothing are all taken";
  EXPECT_EQ(ranked.Best(flat, 1, 0, 3).nodes, 3);
  const PassCost steep = CostOf({{1, 1}, {9, 9}});
  EXPECT_EQ(ranked.Best(steep, 1, 0, 64).nodes, 0) << "rows that cost a plain step never pay";
  const PassCost sloped = CostOf({{1, 1.0}, {9, 3.4}});  // 0.3 a row
  const NodeCount best = ranked.Best(sloped, 1, 0, 64);
  EXPECT_EQ(best.nodes, 3);  // 2.44 / 1.6 = 1.525, 2.952 / 1.9 = 1.554, 3.362 / 2.2 = 1.528
  EXPECT_NEAR(best.rate, (1 + best.tokens) / sloped.Seconds(1 + best.nodes), 1e-9);
}

TEST(RankedTree, GuessesPayLessInAFullBatch) {
  DraftTree chain;
  for (int i = 0; i < 4; ++i) chain.Add(i, i - 1, 0.7f);
  RankedTree ranked;
  ranked.RankByBelief(chain);
  const PassCost cost = CostOf({{1, 1.0}, {4, 1.0}, {16, 4.0}, {32, 8.0}});
  EXPECT_GT(ranked.Best(cost, 1, 0, 64).nodes, 0);
  EXPECT_EQ(ranked.Best(cost, 12, 0, 64).nodes, 0);
}

// Rows that bring few tokens (others' guesses, prompts) do not make time dearer.
TEST(RankedTree, WhatCountsAreTokensAndNotRows) {
  DraftTree chain;
  for (int i = 0; i < 4; ++i) chain.Add(i, i - 1, 0.7f);
  RankedTree ranked;
  ranked.RankByBelief(chain);
  const PassCost cost = CostOf({{1, 1.0}, {64, 2.0}});
  EXPECT_EQ(ranked.Best(cost, {48, 4.0}, 0.5, 64).nodes, 4);
  EXPECT_LT(ranked.Best(cost, 48, 0.5, 64).nodes, 4);
}

TEST(RankedTree, SiblingsAddUpToAtMostOne) {
  SharedCalibration shared;
  const Calibration calibration(shared, {0}, 0);
  DraftTree tree;
  for (int i = 0; i < 3; ++i) tree.Add(i, -1, 0.8f);
  tree.Add(7, 0, 0.5f);
  RankedTree ranked;
  ranked.RankCalibrated(tree, calibration);
  EXPECT_NEAR(ranked.acceptance(0) + ranked.acceptance(1) + ranked.acceptance(2), 1, 1e-5);
  EXPECT_NEAR(ranked.acceptance(3), 0.5f, 1e-5);
}

// The rule `ratio` is exact only if the nodes are chosen without looking at what was drawn.
TEST(RankedTree, DrawnNodesAreChosenWithoutLookingAtTheDraw) {
  SharedCalibration shared;
  const Calibration calibration(shared, {0}, 0);
  const auto drawn = [&](float belief) {
    DraftTree tree;
    tree.Add(1, -1, belief, 0);
    tree.Add(2, -1, 1 - belief, 0);
    tree.Add(3, 0, belief, 1);
    RankedTree ranked;
    ranked.RankCalibrated(tree, calibration);
    return std::vector<float>{ranked.path_probability(0), ranked.path_probability(1),
                              ranked.path_probability(2)};
  };
  EXPECT_EQ(drawn(0.9f), drawn(0.1f));
  EXPECT_GT(drawn(0.1f)[0], drawn(0.1f)[1]) << "elder siblings are looked at first";
}

TEST(RankedTree, BeliefsThatAreNoProbabilities) {
  DraftTree tree;
  tree.Add(1, -1, std::nanf(""));
  tree.Add(2, 0, INFINITY);
  tree.Add(3, -1, -2.0f);
  RankedTree ranked;
  ranked.RankByBelief(tree);
  EXPECT_EQ(std::vector<int32_t>(ranked.order().begin(), ranked.order().end()),
            (std::vector<int32_t>{0, 1, 2}));
}

}  // namespace
}  // namespace hunch

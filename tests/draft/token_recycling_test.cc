// Tests of token recycling: what it learns of which rows, the shape of its trees, and what it keeps
// from one request to the next.
#include "draft/token_recycling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "draft/toy_steps.h"

namespace hunch {
namespace {

using Ids = std::vector<TokenId>;

DraftTree Propose(TokenRecyclingDrafter& drafter, const Ids& committed,
                  ProposeLimits limits = {16, 16, 0}) {
  DraftTree tree;
  EXPECT_TRUE(drafter.Propose(committed, limits, tree).ok());
  CheckTree(tree, limits);
  return tree;
}

Ids Roots(const DraftTree& tree) {
  Ids roots;
  for (int node = 0; node < tree.size(); ++node) {
    if (tree.parents[node] < 0) roots.push_back(tree.tokens[node]);
  }
  return roots;
}

TEST(TokenRecyclingTest, StartsFromThePromptsOwnText) {
  TokenRecyclingDrafter drafter;
  ASSERT_TRUE(drafter.Start(Ids{1, 2, 3, 1, 2, 4, 1, 2}, {}).ok());
  const DraftTree tree = Propose(drafter, {1, 2, 3, 1, 2, 4, 1, 2});
  EXPECT_EQ(Roots(tree), (Ids{4, 3}));  // the latest first
  // After the first guess it goes on.
  ASSERT_GE(tree.size(), 3);
  EXPECT_EQ(tree.tokens[1], 1);
  EXPECT_EQ(tree.parents[1], 0);
  ASSERT_TRUE(drafter.Start(Ids{5}, {}).ok());
  EXPECT_TRUE(Propose(drafter, {5}).empty());
  EXPECT_TRUE(Propose(drafter, {}).empty());
}

// Observes one step in which nothing was accepted.
void Observe(TokenRecyclingDrafter& drafter, const DraftTree& tree, const Ids& committed,
             const Ids& top, int count) {
  drafter.Observe({tree, {}, committed, top, count});
}

TEST(TokenRecyclingTest, LearnsFromEveryRowAcceptedOrNot) {
  TokenRecyclingDrafter drafter;
  ASSERT_TRUE(drafter.Start(Ids{1, 2}, {}).ok());
  DraftTree tree;
  tree.Add(30, -1, 0.5f);
  tree.Add(31, 0, 0.5f);
  // After the step: 1 2 9. The rows followed 2, 30 and 31.
  Observe(drafter, tree, {1, 2, 9}, {9, 8, 40, 41, 50, 51}, 2);
  EXPECT_EQ(Roots(Propose(drafter, {7, 2})), (Ids{9, 8}));  // by its last token
  EXPECT_EQ(Roots(Propose(drafter, {7, 30})), (Ids{40, 41}));
  EXPECT_EQ(Roots(Propose(drafter, {7, 31})), (Ids{50, 51}));
  EXPECT_TRUE(Propose(drafter, {7, 9}).empty());  // no row followed it
}

TEST(TokenRecyclingTest, TwoTokensSayMoreThanOne) {
  TokenRecyclingDrafter drafter;
  ASSERT_TRUE(drafter.Start(Ids{1, 2}, {}).ok());
  Observe(drafter, {}, {1, 2, 9}, {9, 8}, 2);
  Observe(drafter, {}, {1, 2, 9, 5, 2, 6}, {6, 7}, 2);  // the row followed 5 2
  // After 1 2 what followed it then, and behind it what the last token alone says.
  EXPECT_EQ(Roots(Propose(drafter, {1, 2})), (Ids{9, 8, 6, 7}));
  EXPECT_EQ(Roots(Propose(drafter, {5, 2})), (Ids{6, 7}));
  EXPECT_EQ(Roots(Propose(drafter, {4, 2})), (Ids{6, 7}));
}

TEST(TokenRecyclingTest, OfOneContextsRowsTheAcceptedCounts) {
  TokenRecyclingDrafter drafter;
  ASSERT_TRUE(drafter.Start(Ids{1, 2}, {}).ok());
  DraftTree tree;
  tree.Add(30, -1, 0.5f);
  tree.Add(31, -1, 0.5f);
  tree.Add(30, 1, 0.5f);
  // 30 was accepted as a root; the other 30 was not.
  drafter.Observe({tree, Ids{0}, Ids{1, 2, 30, 9}, Ids{30, 9, 8, 7}, 1});
  EXPECT_EQ(Roots(Propose(drafter, {7, 30})), (Ids{9}));
}

TEST(TokenRecyclingTest, RowsWithoutTokensTeachNothing) {
  TokenRecyclingDrafter drafter;
  ASSERT_TRUE(drafter.Start(Ids{1, 2}, {}).ok());
  Observe(drafter, {}, {1, 2, 9}, {-1, -1}, 2);
  Observe(drafter, {}, {1, 2, 9}, {}, 0);
  Observe(drafter, {}, {1, 2, 9}, {4, 4, 4}, 2);  // not a row for each node
  Observe(drafter, {}, {9}, {4, 4}, 2);           // nothing before the step
  EXPECT_TRUE(Propose(drafter, {1, 2}).size() <= 1);
  Observe(drafter, {}, {1, 2, 9}, {6, -1}, 2);
  EXPECT_EQ(Roots(Propose(drafter, {7, 2})), (Ids{6}));
}

TEST(TokenRecyclingTest, GrowsTheBestPathsFirst) {
  const FakeTarget target(64, 3);
  TokenRecyclingDrafter drafter;
  ToySteps steps(target, target.Prompt(20));
  ASSERT_TRUE(drafter.Start(steps.committed, {}).ok());
  for (int i = 0; i < 20; ++i) steps.Run(drafter, {32, 32, 0});
  const DraftTree all = Propose(drafter, steps.committed, {64, 64, 0});
  ASSERT_EQ(all.size(), 64);
  for (int node = 1; node < 64; ++node) {
    EXPECT_LE(PathProbability(all, node), PathProbability(all, node - 1) * 1.0001f);
  }
  // So that a smaller tree is the larger one's beginning.
  for (const int nodes : {0, 1, 7, 40}) {
    const DraftTree some = Propose(drafter, steps.committed, {nodes, 64, 0});
    ASSERT_EQ(some.size(), nodes);
    EXPECT_TRUE(std::equal(some.tokens.begin(), some.tokens.end(), all.tokens.begin()));
    EXPECT_TRUE(std::equal(some.parents.begin(), some.parents.end(), all.parents.begin()));
  }
  EXPECT_TRUE(Propose(drafter, steps.committed, {64, 0, 0}).empty());
  Propose(drafter, steps.committed, {64, 2, 0});
  const DraftTree likely = Propose(drafter, steps.committed, {64, 64, 0.05f});
  ASSERT_FALSE(likely.empty());
  EXPECT_LT(likely.size(), 64);
  for (int node = 0; node < likely.size(); ++node)
    EXPECT_GE(PathProbability(likely, node), 0.05f * 0.9999f);
  EXPECT_LE(Propose(drafter, steps.committed, {100000, 64, 0}).size(),
            TokenRecyclingDrafter::kMostNodes);
}

int PassesFor(const FakeTarget& target, const Ids& prompt, TokenRecyclingDrafter& drafter,
              size_t tokens, Ids* text = nullptr) {
  ToySteps steps(target, prompt);
  EXPECT_TRUE(drafter.Start(prompt, {}).ok());
  int passes = 0;
  for (; steps.committed.size() < prompt.size() + tokens; ++passes) steps.Run(drafter, {24, 24, 0});
  steps.committed.resize(prompt.size() + tokens);
  if (text != nullptr) *text = steps.committed;
  drafter.Forget();
  return passes;
}

TEST(TokenRecyclingTest, ARequestLeavesNothingBehind) {
  const FakeTarget target(64, 5);
  const Ids prompt = target.Prompt(12);
  TokenRecyclingDrafter fresh, used;
  const int alone = PassesFor(target, prompt, fresh, 60);
  EXPECT_LT(alone, 45);  // it guesses something
  PassesFor(target, target.Prompt(100), used, 200);
  EXPECT_TRUE(Propose(used, prompt).empty());
  EXPECT_EQ(PassesFor(target, prompt, used, 60), alone);
}

TEST(TokenRecyclingTest, ASharedTableCarriesOverAndKeepsTheText) {
  const FakeTarget target(64, 5);
  const Ids prompt = target.Prompt(2);
  auto shared = std::make_shared<SuccessorTable>(4096);
  TokenRecyclingDrafter alone, first(shared), second(shared);
  Ids text, cold_text;
  const int cold = PassesFor(target, prompt, alone, 12, &cold_text);
  EXPECT_EQ(PassesFor(target, prompt, first, 12), cold);
  EXPECT_GT(shared->contexts(), 0u);
  EXPECT_LT(PassesFor(target, prompt, second, 12, &text), cold);
  EXPECT_EQ(text, cold_text);
  // The prompt's own text does not go into it.
  const size_t before = shared->contexts();
  ASSERT_TRUE(first.Start(Ids{60, 61, 62, 63, 60, 61, 62, 63}, {}).ok());
  EXPECT_EQ(shared->contexts(), before);
}

// Whatever an engine does with the tree.
TEST(TokenRecyclingTest, LearnsFromTreesThatWereCut) {
  const FakeTarget target(64, 8);
  TokenRecyclingDrafter drafter;
  ToySteps steps(target, target.Prompt(10));
  std::mt19937 random(2);
  ASSERT_TRUE(drafter.Start(steps.committed, {}).ok());
  int accepted = 0;
  for (int i = 0; i < 60; ++i) {
    const auto step = steps.Run(drafter, {20, 20, 0}, [&](DraftTree& tree) {
      const size_t kept = random() % (static_cast<size_t>(tree.size()) + 1);
      tree.tokens.resize(kept);
      tree.parents.resize(kept);
      tree.probabilities.resize(kept);
      if (random() % 3 == 0) tree.Add(static_cast<TokenId>(random() % 64), -1, 0.1f);
    });
    accepted += static_cast<int>(step.path.size());
  }
  EXPECT_GT(accepted, 10);
}

}  // namespace
}  // namespace hunch

#include "sched/plan.h"

#include <gtest/gtest.h>

namespace hunch {
namespace {

std::vector<StepShare> PlanStep(std::span<const SequenceSnapshot> sequences,
                                const StepLimits& limits) {
  std::vector<StepShare> plan(3);  // what an earlier step left there
  hunch::PlanStep(sequences, limits, plan);
  return plan;
}

constexpr StepLimits kLimits = {.max_rows = 64, .max_logit_rows = 16};

TEST(PlanStep, APromptIsCutIntoChunksAndOnlyItsEndGivesLogits) {
  const std::vector<SequenceSnapshot> first = {{100, 0, 10, 4}};
  auto plan = PlanStep(first, kLimits);
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_EQ(plan[0].rows, 64);
  EXPECT_FALSE(plan[0].logits);
  EXPECT_EQ(plan[0].max_nodes, 0);
  const std::vector<SequenceSnapshot> second = {{100, 64, 10, 4}};
  plan = PlanStep(second, kLimits);
  EXPECT_EQ(plan[0].rows, 36);
  EXPECT_TRUE(plan[0].logits);
  EXPECT_EQ(plan[0].max_nodes, 0) << "a prompt's first token is not guessed at";
}

TEST(PlanStep, GuessesNeverReachPastTheLastTokenTheRequestMayAdd) {
  for (int left = 1; left < 8; ++left) {
    const std::vector<SequenceSnapshot> one = {{50, 49, left, 4}};
    const auto plan = PlanStep(one, kLimits);
    ASSERT_EQ(plan.size(), 1u);
    EXPECT_EQ(plan[0].max_depth, left - 1);
    EXPECT_EQ(plan[0].max_nodes, left == 1 ? 0 : 4);
  }
}

TEST(PlanStep, EveryDecodingSequenceGetsItsRowBeforeAnyoneGuesses) {
  const std::vector<SequenceSnapshot> many(16, SequenceSnapshot{50, 49, 100, 8});
  const auto plan = PlanStep(many, kLimits);
  ASSERT_EQ(plan.size(), 16u);
  for (const StepShare& share : plan) EXPECT_EQ(share.max_nodes, 0);
  const std::vector<SequenceSnapshot> few(4, SequenceSnapshot{50, 49, 100, 8});
  int rows = 0;
  for (const StepShare& share : PlanStep(few, kLimits)) rows += share.rows + share.max_nodes;
  EXPECT_EQ(rows, kLimits.max_logit_rows);
}

TEST(PlanStep, GuessesShareTheFreeRowsFairly) {
  const auto nodes = [](std::vector<int> wanted, int max_rows, int tokens_left = 100) {
    std::vector<SequenceSnapshot> sequences;
    for (const int limit : wanted) sequences.push_back({50, 49, tokens_left, limit});
    std::vector<int> given;
    for (const StepShare& share : PlanStep(sequences, {max_rows, 64})) {
      given.push_back(share.max_nodes);
    }
    return given;
  };
  using Nodes = std::vector<int>;
  EXPECT_EQ(nodes({8, 8, 8}, 64), (Nodes{8, 8, 8}));
  EXPECT_EQ(nodes({60, 60, 60}, 64), (Nodes{21, 20, 20}));
  EXPECT_EQ(nodes({60, 3, 0, 60}, 64), (Nodes{29, 3, 0, 28}));
  EXPECT_EQ(nodes({4, 4, 4}, 5), (Nodes{1, 1, 0}));
  EXPECT_EQ(nodes({4, 4, 4}, 3), (Nodes{0, 0, 0}));
  EXPECT_EQ(nodes({4, 4, 4}, 2), (Nodes{0, 0}));
  EXPECT_EQ(nodes({4, 4}, 64, 1), (Nodes{0, 0})) << "the target's own token is the last one";
}

TEST(PlanStep, DecodingGoesBeforeAPromptAndLimitsHold) {
  const std::vector<SequenceSnapshot> mixed = {{500, 0, 10, 4}, {50, 49, 100, 4}};
  const auto plan = PlanStep(mixed, kLimits);
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_EQ(plan[0].sequence, 1);
  EXPECT_EQ(plan[0].max_nodes, 4);
  EXPECT_EQ(plan[1].rows, kLimits.max_rows - 5);
}

TEST(PlanStep, APromptWaitsWithItsLastRowWhenNoLogitsRowIsLeft) {
  std::vector<SequenceSnapshot> full(16, SequenceSnapshot{50, 49, 100, 0});
  full.push_back({10, 0, 5, 0});
  const auto plan = PlanStep(full, kLimits);
  ASSERT_EQ(plan.size(), 17u);
  EXPECT_EQ(plan.back().rows, 9);
  EXPECT_FALSE(plan.back().logits);
}

}  // namespace
}  // namespace hunch

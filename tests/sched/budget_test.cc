#include "sched/budget.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace hunch {
namespace {

// 0.1 of a plain pass for each further row.
Budget SlopedBudget() { return Budget(CostCurve(std::vector<PassTime>{{1, 1.0}, {33, 4.2}})); }
// Eight rows for the price of one.
Budget FlatBudget() {
  return Budget(CostCurve(std::vector<PassTime>{{1, 1.0}, {8, 1.0}, {32, 4.0}}));
}

constexpr TokenId kWrong = 1000;

// A chain of which the first `right` tokens come true where the text is 0, 1, 2, ...
DraftTree Chain(int length, int right, float belief, uint8_t source = 0) {
  DraftTree tree;
  for (int i = 0; i < length; ++i) {
    tree.Add(i < right ? i : kWrong + i, i - 1, belief, DraftTree::kCertain, source);
  }
  return tree;
}

std::vector<TokenId> Text(int count) {
  std::vector<TokenId> text(count);
  for (int i = 0; i < count; ++i) text[i] = i;
  return text;
}

struct Step {
  int nodes;  // verified
  int accepted;
  double seconds;
};

// One step on a machine whose passes take what `budget` believes times `slowness` a guess.
Step RunStep(Budget& budget, SequenceBudget& sequence, const DraftTree& proposed, int right,
             double per_row_factor = 1) {
  DraftTree tree = proposed;
  const auto limits = sequence.DraftLimits(1, 16, 16);
  if (limits.max_nodes == 0) tree.clear();
  const DraftTree raw = tree;
  sequence.Prune(1, tree);
  const int accepted = std::min(right, tree.size());
  const double plain = 1.0;
  const double seconds = plain + per_row_factor * 0.1 * tree.size();
  budget.ObservePass(1 + tree.size(), seconds);
  sequence.Learn(raw, tree.size(), Text(accepted + 1), 1 + tree.size(), seconds, {});
  return {tree.size(), accepted, seconds};
}

TEST(SequenceBudget, TakesWhatPaysAndNoMore) {
  Budget budget = SlopedBudget();
  SequenceBudget sequence(budget, {}, 1, 0);
  sequence.DraftLimits(1, 16, 16);
  DraftTree tree = Chain(8, 8, 0.95f);
  sequence.Prune(1, tree);
  EXPECT_EQ(tree.size(), 8);
  tree = Chain(8, 8, 0.05f);
  sequence.Prune(1, tree);
  EXPECT_TRUE(tree.empty());
  tree = Chain(8, 8, 0.5f);
  sequence.Prune(1, tree);
  EXPECT_GT(tree.size(), 0);
  EXPECT_LT(tree.size(), 5);
}

TEST(SequenceBudget, LearnsThatAConfidentDrafterIsWrong) {
  Budget budget = SlopedBudget();
  SequenceBudget sequence(budget, {}, 1, 0);
  double seconds = 0;
  int steps = 0;
  for (; steps < 128; ++steps) seconds += RunStep(budget, sequence, Chain(8, 0, 0.9f), 0).seconds;
  EXPECT_LT(seconds, 1.03 * steps) << "at worst 3 % slower than plain";
  EXPECT_EQ(RunStep(budget, sequence, Chain(8, 0, 0.9f), 0).nodes, 0);
}

// Free drafters are watched in plain steps as well.
TEST(SequenceBudget, ComesBackWhenTheTextBecomesEasy) {
  Budget budget = SlopedBudget();
  SequenceBudget sequence(budget, {}, 1, 0);
  for (int i = 0; i < 200; ++i) RunStep(budget, sequence, Chain(8, 0, 0.9f), 0);
  int late = 0;
  for (int i = 0; i < 60; ++i) late += RunStep(budget, sequence, Chain(8, 8, 0.9f), 8).accepted;
  EXPECT_GT(late, 30 * 8 / 2);
}

TEST(SequenceBudget, APlainPassNowAndThenTellsWhatPlainTakes) {
  Budget budget = SlopedBudget();
  SequenceBudget sequence(budget, {}, 1, 0);
  int plain = 0;
  for (int i = 0; i < 200; ++i)
    plain += RunStep(budget, sequence, Chain(8, 8, 0.95f), 8).nodes == 0;
  EXPECT_GE(plain, 2);
  EXPECT_LE(plain, 4);
}

TEST(SequenceBudget, InABatchNobodyWaitsForAPlainPass) {
  Budget budget = FlatBudget();
  SequenceBudget sequence(budget, {}, 1, 0);
  for (int i = 0; i < 100; ++i) {
    ASSERT_GT(sequence.DraftLimits(3, 16, 16).max_nodes, 0) << i;
    DraftTree tree = Chain(4, 4, 0.95f);
    const DraftTree raw = tree;
    sequence.Prune(3, tree);
    ASSERT_GT(tree.size(), 0) << i;
    budget.ObservePass(8, 1.0);  // with the others' guesses
    sequence.Learn(raw, tree.size(), Text(tree.size() + 1), 3 + tree.size(), 1.0, {});
  }
}

// The curve says 0.1 a row, really it is 0.2, 0.5 or 1: nodes that seemed to pay do not.
TEST(SequenceBudget, NeverMuchSlowerWhereTheCurveIsWrong) {
  for (const double factor : {2.0, 5.0, 10.0}) {
    Budget budget = SlopedBudget();
    SequenceBudget sequence(budget, {}, 1, 0);
    double seconds = 0;
    int tokens = 0;
    for (int i = 0; i < 400; ++i) {
      // One guess in three comes true, all of one depth.
      const int right = i % 3 == 0 ? 1 : 0;
      const Step step = RunStep(budget, sequence, Chain(4, right, 0.3f), right, factor);
      seconds += step.seconds;
      tokens += 1 + step.accepted;
    }
    EXPECT_LT(seconds, 1.03 * tokens) << factor << ", fallbacks " << sequence.fallbacks();
  }
}

TEST(SequenceBudget, FixedTakesTheLikeliestNodesAndLeavesBeliefsAlone) {
  Budget budget = SlopedBudget();
  SequenceBudget sequence(budget, {.policy = Policy::kFixed, .fixed_nodes = 3}, 1, 0);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(RunStep(budget, sequence, Chain(8, 0, 0.2f), 0).nodes, 3);
  const auto limits = sequence.DraftLimits(1, 16, 16);
  EXPECT_EQ(limits.max_nodes, 3);
  EXPECT_EQ(limits.max_depth, 3);
  DraftTree tree = Chain(8, 0, 0.2f);
  sequence.Prune(1, tree);
  EXPECT_EQ(tree.probabilities, std::vector<float>(3, 0.2f));
  EXPECT_EQ(sequence.fallbacks(), 0);
  EXPECT_EQ(sequence.DraftLimits(1, 2, 16).max_nodes, 2) << "the pass has no more room";
}

TEST(SequenceBudget, ThresholdFollowsMeanAcceptance) {
  Budget budget = SlopedBudget();
  SequenceBudget sequence(budget, {.policy = Policy::kThreshold}, 1, 0);
  EXPECT_EQ(RunStep(budget, sequence, Chain(16, 16, 0.9f), 16).nodes, 5);
  EXPECT_EQ(RunStep(budget, sequence, Chain(16, 16, 0.9f), 16).nodes, 8);
  for (int i = 0; i < 100; ++i) RunStep(budget, sequence, Chain(16, 0, 0.9f), 0);
  EXPECT_EQ(RunStep(budget, sequence, Chain(16, 0, 0.9f), 0).nodes, 2);
}

TEST(SequenceBudget, WarnsOnceWhenAcceptanceStaysLow) {
  Budget budget = FlatBudget();
  SequenceBudget sequence(budget, {.policy = Policy::kFixed, .fixed_nodes = 4}, 1, 0);
  int warnings = 0;
  for (int i = 0; i < 300; ++i) {
    RunStep(budget, sequence, Chain(4, 1, 0.9f), 1);
    const bool warned = sequence.TakeWarning();
    EXPECT_FALSE(warned && i < 63) << i;
    warnings += warned;
  }
  EXPECT_EQ(warnings, 1);
  EXPECT_NEAR(sequence.mean_acceptance(), 0.25, 1e-6);
  SequenceBudget silent(
      budget, {.policy = Policy::kFixed, .fixed_nodes = 4, .acceptance_warning = 0}, 1, 0);
  for (int i = 0; i < 300; ++i) RunStep(budget, silent, Chain(4, 0, 0.9f), 0);
  EXPECT_FALSE(silent.TakeWarning());
}

TEST(SequenceBudget, NothingMayBeDraftedWithoutRoom) {
  for (const Policy policy : {Policy::kGoodput, Policy::kFixed, Policy::kThreshold}) {
    Budget budget = SlopedBudget();
    SequenceBudget sequence(budget, {.policy = policy}, 1, 0);
    EXPECT_EQ(sequence.DraftLimits(1, 0, 16).max_nodes, 0);
    EXPECT_EQ(sequence.DraftLimits(1, 16, 0).max_nodes, 0);
    EXPECT_FALSE(sequence.WorthAsking(0, {}, 1).worth);
  }
}

// A drafter with a model: its passes cost `pass` each, and of its guesses the first `right` are so.
struct ModelStep {
  bool asked;
  double seconds;
  int tokens;
};
ModelStep RunModelStep(Budget& budget, SequenceBudget& sequence, int right, double pass) {
  const int depth = sequence.DraftLimits(1, 16, 16).max_depth;
  const auto ask = sequence.WorthAsking(0, {}, 1);
  DraftTree tree;
  DrafterWork work;
  float path = 1;
  for (int i = 0; ask.worth && i < std::min(depth, 8) && path >= ask.min_path_probability; ++i) {
    const float belief = i < right ? 0.9f : 0.4f;
    tree.Add(i < right ? i : kWrong, i - 1, belief);
    path *= belief;
    work = {work.seconds + pass, work.passes + 1};
  }
  const DraftTree raw = tree;
  sequence.Prune(1, tree);
  const int accepted = std::min(right, tree.size());
  const double seconds = 1 + 0.1 * tree.size();
  budget.ObservePass(1 + tree.size(), seconds);
  sequence.Learn(raw, tree.size(), Text(accepted + 1), 1 + tree.size(), seconds, {&work, 1});
  return {work.passes > 0, seconds + work.seconds, accepted + 1};
}

TEST(WorthAsking, ADrafterThatPaysIsAsked) {
  Budget budget = SlopedBudget();
  budget.SetDrafterCost(budget.DrafterId("draft_model"), 0.2, 0.01);
  SequenceBudget sequence(budget, {}, {"draft_model"}, 0);
  double seconds = 0;
  int tokens = 0;
  for (int i = 0; i < 100; ++i) {
    const ModelStep step = RunModelStep(budget, sequence, 4, 0.2);
    seconds += step.seconds;
    tokens += step.tokens;
  }
  EXPECT_LT(seconds, 0.6 * tokens);
  EXPECT_NEAR(budget.DraftPassSeconds(0), 0.2, 0.01);
}

TEST(WorthAsking, OneThatDoesNotPayIsProbedRarely) {
  Budget budget = SlopedBudget();
  budget.SetDrafterCost(budget.DrafterId("draft_model"), 0.3, 0.004);
  SequenceBudget sequence(budget, {}, {"draft_model"}, 0);
  for (int i = 0; i < 100; ++i) RunModelStep(budget, sequence, 0, 0.3);
  int asked = 0;
  double seconds = 0;
  for (int i = 0; i < 1000; ++i) {
    const ModelStep step = RunModelStep(budget, sequence, 0, 0.3);
    asked += step.asked;
    seconds += step.seconds;
  }
  EXPECT_GT(asked, 0);
  EXPECT_LE(asked, 20) << "at most 2 % of steps";
  EXPECT_LT(seconds, 1010);
  EXPECT_GE(sequence.probes(), asked);
  int later = 0;
  for (int i = 0; i < 1000; ++i) later += RunModelStep(budget, sequence, 6, 0.3).asked;
  EXPECT_GT(later, 200) << "probes found that it pays again";
}

TEST(WorthAsking, AGoodFreeGuessSparesTheModel) {
  Budget budget = SlopedBudget();
  budget.SetDrafterCost(budget.DrafterId("ngram"), 0, 0);
  budget.SetDrafterCost(budget.DrafterId("draft_model"), 0.3, 0.01);
  SequenceBudget sequence(budget, {}, {"ngram", "draft_model"}, 0);
  sequence.DraftLimits(1, 16, 16);
  EXPECT_TRUE(sequence.WorthAsking(1, {}, 1).worth);
  sequence.DraftLimits(1, 16, 16);
  EXPECT_FALSE(sequence.WorthAsking(1, Chain(12, 12, 0.95f), 1).worth);
}

TEST(WorthAsking, WhatHasToBeReadFirstMustBeEarnedBack) {
  Budget budget = SlopedBudget();
  budget.SetDrafterCost(budget.DrafterId("draft_model"), 0.2, 0.05);
  SequenceBudget sequence(budget, {}, {"draft_model"}, 0);
  sequence.DraftLimits(1, 16, 16);
  // A single step says little: only there the free drafters may be silent.
  sequence.ExpectStart(0, 100, 1, 1000);
  EXPECT_FALSE(sequence.WorthAsking(0, {}, 1).worth);
  for (int i = 0; i < 4; ++i) sequence.WorthAsking(0, {}, 1);
  EXPECT_TRUE(sequence.WorthAsking(0, {}, 1).worth);
  sequence.ExpectStart(0, 100, 1, 4);
  EXPECT_FALSE(sequence.WorthAsking(0, {}, 1).worth) << "only 4 tokens are to come";
  sequence.ExpectStart(0, 4000, 1, 1000);
  EXPECT_FALSE(sequence.WorthAsking(0, {}, 1).worth) << "a long prompt for a short answer";
  sequence.ExpectStart(0, 4000, 900, 1000);
  EXPECT_TRUE(sequence.WorthAsking(0, {}, 1).worth) << "the answer is long after all";
}

TEST(WorthAsking, UntilItIsTimedAPassIsTakenForAShareOfTheTargets) {
  Budget budget = SlopedBudget();
  const int id = budget.DrafterId("draft_model");
  for (const double share : {0.1, 1.0}) {
    budget.SetDrafterShare(id, share);
    SequenceBudget sequence(budget, {}, {"draft_model"}, 0);
    sequence.DraftLimits(1, 16, 16);
    EXPECT_EQ(sequence.WorthAsking(0, {}, 1).worth, share < 0.5) << share;
  }
  EXPECT_EQ(budget.DraftPassSeconds(id), 0);
}

// One sequence of many can raise the tokens per second of all by little: that is no reason against
// guesses that come for nothing.
TEST(SequenceBudget, GoodGuessesPayInALargeBatchToo) {
  Budget budget(CostCurve(std::vector<PassTime>{{1, 1.0}, {256, 1.2}}));
  for (const int base_rows : {1, 8, 64, 200}) {
    SequenceBudget sequence(budget, {}, {"ngram"}, 0);
    sequence.DraftLimits(base_rows, 8, 8);
    DraftTree tree = Chain(2, 2, 0.9f);
    sequence.Prune(base_rows, tree);
    EXPECT_EQ(tree.size(), 2) << base_rows;
  }
}

// Where each row costs something, a row that everyone waits for must bring more the more wait.
TEST(SequenceBudget, GuessesFadeAsTheBatchFills) {
  Budget budget = SlopedBudget();
  std::vector<int> nodes;
  for (const int base_rows : {1, 4, 8, 16, 24}) {
    SequenceBudget sequence(budget, {}, 1, 0);
    const int most = sequence.DraftLimits(base_rows, 8, 8).max_nodes;
    DraftTree tree = Chain(most, most, 0.5f);
    sequence.Prune(base_rows, tree);
    nodes.push_back(tree.size());
  }
  EXPECT_GE(nodes.front(), 2);
  EXPECT_TRUE(std::is_sorted(nodes.rbegin(), nodes.rend()));
  EXPECT_EQ(nodes.back(), 0);
}

// Eight sequences: alone a pass would have to bring more than its one sequence's tokens.
TEST(WorthAsking, SharedPassesAreCheaper) {
  Budget budget(CostCurve(std::vector<PassTime>{{1, 1.0}, {64, 1.6}}));
  budget.SetDrafterCost(budget.DrafterId("draft_model"), 0.2, 0);
  for (const int sharers : {1, 2, 8}) {
    SequenceBudget sequence(budget, {}, {"draft_model"}, 0);
    sequence.DraftLimits(8, 16, 16);
    const auto would = sequence.WouldAsk(0, {}, 8, sharers);
    const auto ask = sequence.WorthAsking(0, {}, 8, sharers);
    EXPECT_EQ(ask.worth, sharers == 8) << sharers;
    EXPECT_EQ(would.worth, ask.worth) << sharers;
    EXPECT_EQ(would.nodes, ask.nodes);
    EXPECT_EQ(ask.nodes > 0, ask.worth);
  }
}

// The question without consequences has none: a prompt's reading is weighed by real steps only.
TEST(WorthAsking, WouldAskChangesNothing) {
  Budget budget = SlopedBudget();
  budget.SetDrafterCost(budget.DrafterId("draft_model"), 0.2, 0.05);
  SequenceBudget sequence(budget, {}, {"draft_model"}, 0);
  sequence.DraftLimits(1, 16, 16);
  sequence.ExpectStart(0, 100, 1, 1000);
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(sequence.WouldAsk(0, {}, 1, 1).worth);
  EXPECT_FALSE(sequence.WorthAsking(0, {}, 1).worth);
  EXPECT_EQ(sequence.probes(), 0);
}

// A shared pass: each sequence pays for its rows, and all learn what it would have taken alone.
TEST(DrafterWork, ASharedPassIsPaidByRowsAndPricedAlone) {
  Budget budget = FlatBudget();
  budget.SetDrafterCost(budget.DrafterId("draft_model"), 0.25, 0.001);
  SequenceBudget few(budget, {}, {"draft_model"}, 0), many(budget, {}, {"draft_model"}, 0);
  for (int step = 0; step < 100; ++step) {
    for (SequenceBudget* sequence : {&few, &many}) {
      sequence->DraftLimits(2, 16, 16);
      ASSERT_TRUE(sequence->WorthAsking(0, {}, 2, 2).worth);
    }
    DrafterWork small, large;
    // The curve is flat: 8 rows take as long as 2 or 6.
    budget.AddPass(2, 8, 0.2, small);
    budget.AddPass(6, 8, 0.2, large);
    EXPECT_DOUBLE_EQ(small.seconds, 0.05);
    EXPECT_DOUBLE_EQ(large.seconds, 0.15);
    EXPECT_NEAR(small.seconds + small.saved, 0.2, 0.01);
    EXPECT_NEAR(large.seconds + large.saved, 0.2, 0.01);
    EXPECT_EQ(small.passes, 1);
    few.Learn(Chain(1, 1, 0.9f), 1, Text(2), 4, 1, {&small, 1});
    many.Learn(Chain(1, 1, 0.9f), 1, Text(2), 4, 1, {&large, 1});
  }
  EXPECT_NEAR(budget.DraftPassSeconds(0), 0.2, 0.01) << "not a share of it";
}

// Reading a prompt: the passes without logits are no guesses.
TEST(DrafterWork, APromptsPassesAreNotTakenForGuesses) {
  Budget budget = SlopedBudget();
  const int id = budget.DrafterId("draft_model");
  budget.SetDrafterCost(id, 1, 0.4);
  for (const int reading : {40, 0}) {
    SequenceBudget sequence(budget, {}, {"draft_model"}, 0);
    sequence.DraftLimits(1, 16, 16);
    sequence.ExpectStart(0, 100, 1, 1000);
    // 100 tokens in 40 passes, beside others' rows; then two guesses.
    const DrafterWork work = {.seconds = 42, .passes = 42, .reading_passes = reading};
    sequence.Learn(Chain(2, 2, 0.9f), 2, Text(3), 3, 1.2, {&work, 1});
    EXPECT_EQ(sequence.on_plain_path(), reading == 0) << "what was read was weighed before";
    EXPECT_EQ(budget.DraftPassSeconds(id), 1) << "nothing new is known of it";
  }
}

TEST(WorthAsking, DearPassesStopEarlier) {
  Budget budget = SlopedBudget();
  const int cheap = budget.DrafterId("cheap"), dear = budget.DrafterId("dear");
  budget.SetDrafterCost(cheap, 0.02, 0);
  budget.SetDrafterCost(dear, 0.3, 0);
  SequenceBudget sequence(budget, {}, {"cheap", "dear"}, 0);
  sequence.DraftLimits(1, 16, 16);
  const auto one = sequence.WorthAsking(0, {}, 1);
  sequence.DraftLimits(1, 16, 16);
  const auto other = sequence.WorthAsking(1, {}, 1);
  ASSERT_TRUE(one.worth && other.worth);
  EXPECT_GT(one.min_path_probability, 0);
  EXPECT_LT(one.min_path_probability, other.min_path_probability);
}

}  // namespace
}  // namespace hunch

#include "sched/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

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

TEST(PlanStep, PromptsAreReadInSmallerPartsWhereSomebodyDecodes) {
  const StepLimits limits = {.max_rows = 64, .max_logit_rows = 16, .max_prompt_rows = 24};
  const std::vector<SequenceSnapshot> mixed = {{500, 0, 10, 4}, {50, 49, 100, 4}, {9, 0, 1, 0}};
  const auto plan = PlanStep(mixed, limits);
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_EQ(plan[0].max_nodes, 4);
  EXPECT_EQ(plan[1].rows, 24);
  EXPECT_EQ(PlanStep(std::span(mixed).first(1), limits)[0].rows, 64) << "nobody waits";
}

TEST(PromptRowsBesideDecoding, TakeAQuarterOfASecond) {
  EXPECT_EQ(PromptRowsBesideDecoding(0.004), 56) << "62, in eights";
  EXPECT_EQ(PromptRowsBesideDecoding(1), 16) << "the weights have to be read for them";
  EXPECT_EQ(PromptRowsBesideDecoding(1e-12), PromptRowsBesideDecoding(0)) << "a model of nothing";
}

TEST(PlanStep, APromptWaitsWithItsLastRowWhenNoLogitsRowIsLeft) {
  std::vector<SequenceSnapshot> full(16, SequenceSnapshot{50, 49, 100, 0});
  full.push_back({10, 0, 5, 0});
  const auto plan = PlanStep(full, kLimits);
  ASSERT_EQ(plan.size(), 17u);
  EXPECT_EQ(plan.back().rows, 9);
  EXPECT_FALSE(plan.back().logits);
}

TEST(PlanStep, APromptThatEndsHasItsLogitsRowBesideGuesses) {
  const std::vector<SequenceSnapshot> mixed = {{50, 49, 100, 64}, {10, 0, 5, 0}, {20, 0, 5, 0}};
  const auto plan = PlanStep(mixed, {.max_rows = 256, .max_logit_rows = 65});
  ASSERT_EQ(plan.size(), 3u);
  EXPECT_EQ(plan[0].max_nodes, 62);
  EXPECT_TRUE(plan[1].logits);
  EXPECT_TRUE(plan[2].logits);
}

TEST(PlanStep, HalfOfWhatIsFreeIsKeptForPrompts) {
  const auto rows = [](int prompt, int max_rows) {
    std::vector<SequenceSnapshot> sequences(4, SequenceSnapshot{50, 49, 100, 8});
    sequences.push_back({prompt, 0, 10, 0});
    int guesses = 0;
    const auto plan = PlanStep(sequences, {max_rows, 64});
    for (const StepShare& share : plan) guesses += share.max_nodes;
    return std::pair(guesses, plan.back().rows);
  };
  EXPECT_EQ(rows(1000, 16), std::pair(6, 6));
  EXPECT_EQ(rows(1000, 5), std::pair(0, 1));
  EXPECT_EQ(rows(4, 16), std::pair(8, 4)) << "what prompts do not need is for guesses";
  EXPECT_EQ(rows(1000, 256), std::pair(32, 220)) << "and what guesses do not need for prompts";
}

TEST(PlanStep, GuessesEndAtTheirLength) {
  for (const int length : {40, 50, 51, 53, 100}) {
    SequenceSnapshot sequence = {50, 49, 10, 4};
    sequence.draft_length = length;
    const auto plan = PlanStep({&sequence, 1}, kLimits);
    EXPECT_EQ(plan[0].max_depth, std::clamp(length - 50, 0, 9)) << length;
    EXPECT_EQ(plan[0].max_nodes, length > 50 ? 4 : 0) << length;
    EXPECT_EQ(plan[0].rows, 1);
  }
}

TEST(PlanStep, ARowLimitCutsAPromptFiner) {
  SequenceSnapshot sequence = {50, 10, 10, 0};
  sequence.row_limit = 1;
  EXPECT_EQ(PlanStep({&sequence, 1}, kLimits)[0].rows, 1);
  sequence.in_kv = 49;
  EXPECT_TRUE(PlanStep({&sequence, 1}, kLimits)[0].logits);
}

TEST(PlanStep, RowsOfAPromptThatGetLogitsAreBoundToo) {
  SequenceSnapshot prompt = {50, 10, 10, 0};
  prompt.logits_from = 10;
  EXPECT_EQ(PlanStep({&prompt, 1}, kLimits)[0].rows, 16);
  prompt.logits_from = 15;  // the rows before were read once already
  EXPECT_EQ(PlanStep({&prompt, 1}, kLimits)[0].rows, 5 + 16);
  prompt.row_limit = 4;
  prompt.logits_from = 10;
  std::vector<SequenceSnapshot> mixed = {{50, 49, 100, 64}, prompt, {100, 0, 5, 0}};
  auto plan = PlanStep(mixed, kLimits);
  ASSERT_EQ(plan.size(), 3u);
  EXPECT_EQ(plan[0].max_nodes, 16 - 1 - 4) << "guesses have the other logits rows";
  EXPECT_EQ(plan[1].rows, 4);
  EXPECT_GT(plan[2].rows, 0);
  mixed[1].row_limit = 20;
  plan = PlanStep(mixed, kLimits);
  ASSERT_EQ(plan.size(), 2u) << "nobody overtakes a prompt that is cut";
  EXPECT_EQ(plan[0].max_nodes, 0);
  EXPECT_EQ(plan[1].rows, 15);
}

TEST(GuessSwitchesTest, ABatchThatIsTooLargeGuessesNothing) {
  const GuessSwitches switches = {.disable_by_batch_size = 3};
  EXPECT_EQ(AllowedGuesses(switches, 8, 3), 8);
  EXPECT_EQ(AllowedGuesses(switches, 8, 4), 0);
  EXPECT_EQ(AllowedGuesses({}, 8, 1000), 8);
  EXPECT_EQ(DraftLength({}), SequenceSnapshot::kNoLimit);
  EXPECT_EQ(DraftLength({.max_model_len = 99}), 99);
}

// Whatever the sequences and the limits are.
TEST(PlanStepProperty, LimitsHoldAndNobodyIsLeftOut) {
  std::mt19937 random(5);
  const auto upto = [&](int most) { return static_cast<int>(random() % (most + 1)); };
  for (int round = 0; round < 5000; ++round) {
    StepLimits limits = {1 + upto(80), 1 + upto(40)};
    if (upto(1) == 0) limits.max_prompt_rows = 1 + upto(40);
    std::vector<SequenceSnapshot> sequences(1 + upto(MostRunning(limits) - 1));
    for (SequenceSnapshot& sequence : sequences) {
      const int unread = upto(1) == 0 ? 1 : 1 + upto(100);
      const int read = 1 + upto(50);
      sequence = {read + unread, read, 1 + upto(20), upto(1) * upto(64)};
      if (upto(3) == 0) sequence.draft_length = upto(200);
      if (upto(7) == 0) sequence.row_limit = 1 + upto(3);
      if (round % 4 == 0 && upto(3) == 0) sequence.logits_from = read + upto(unread);
    }
    const auto plan = PlanStep(sequences, limits);
    std::vector<int> rows(sequences.size());
    int all = 0, logits = 0, nodes = 0;
    for (const StepShare& share : plan) {
      const SequenceSnapshot& of = sequences[share.sequence];
      EXPECT_EQ(rows[share.sequence], 0) << "one share each";
      rows[share.sequence] = share.rows;
      EXPECT_GT(share.rows, 0);
      EXPECT_LE(share.rows, std::min(of.tokens - of.in_kv, of.row_limit));
      EXPECT_EQ(share.logits, of.in_kv + share.rows == of.tokens);
      EXPECT_LE(share.max_nodes, of.draft_limit);
      if (share.max_nodes > 0) {
        EXPECT_EQ(of.tokens - of.in_kv, 1);
        EXPECT_LT(share.max_depth, of.tokens_left);
        EXPECT_LE(of.tokens + share.max_depth, of.draft_length);
      }
      all += share.rows + share.max_nodes;
      nodes += share.max_nodes;
      const int from = std::max(of.in_kv, std::min(of.logits_from, of.tokens - 1));
      logits += std::max(of.in_kv + share.rows - from, 0) + share.max_nodes;
    }
    ASSERT_LE(all, limits.max_rows);
    ASSERT_LE(logits, limits.max_logit_rows);
    // Decoding sequences have their row; prompts are read in order, and no slower than at half of
    // what is free.
    int decoding = 0, wanted = 0, given = 0;
    bool whole = true;
    for (size_t i = 0; i < sequences.size(); ++i) {
      const SequenceSnapshot& of = sequences[i];
      if (of.tokens - of.in_kv == 1) {
        ++decoding;
        ASSERT_EQ(rows[i], 1);
        continue;
      }
      ASSERT_TRUE(whole || rows[i] == 0) << "overtaken";
      const int could = std::min(of.tokens - of.in_kv, of.row_limit);
      whole = whole && rows[i] == could;
      wanted += could;
      given += rows[i];
    }
    int at_least = std::min(wanted, (limits.max_rows - decoding + 1) / 2);
    if (decoding > 0) {
      ASSERT_LE(given, limits.max_prompt_rows);
      at_least = std::min(at_least, limits.max_prompt_rows);
    }
    ASSERT_GE(given, round % 4 == 0 ? std::min(at_least, 1) : at_least);
  }
}

// Sequences come and go while the plan is carried out step by step.
TEST(PlanStepProperty, NobodyStarvesOverManySteps) {
  std::mt19937 random(6);
  const StepLimits limits = {.max_rows = 16, .max_logit_rows = 12};
  struct Life {
    SequenceSnapshot snapshot;
    int arrived = 0;
    bool first_token = false;
  };
  std::vector<Life> running;
  int prompt_rows_read = 0, last_first_token = 0, finished = 0;
  for (int step = 0; step < 4000; ++step) {
    if (static_cast<int>(running.size()) < MostRunning(limits) && random() % 2 == 0) {
      const int prompt = 2 + static_cast<int>(random() % 200);
      const int answer = 1 + static_cast<int>(random() % 40);
      running.push_back({{prompt, 0, answer, 8}, step});
    }
    std::vector<SequenceSnapshot> snapshots;
    for (const Life& life : running) snapshots.push_back(life.snapshot);
    int prompts = 0, decoding = 0;
    for (const SequenceSnapshot& snapshot : snapshots) {
      (snapshot.tokens - snapshot.in_kv == 1 ? decoding : prompts) += 1;
    }
    int advanced = 0, prompt_rows = 0;
    for (const StepShare& share : PlanStep(snapshots, limits)) {
      SequenceSnapshot& snapshot = running[share.sequence].snapshot;
      const bool decodes = snapshot.tokens - snapshot.in_kv == 1;
      advanced += decodes;
      prompt_rows += decodes ? 0 : share.rows;
      snapshot.in_kv += share.rows;
      if (!share.logits) continue;
      ++snapshot.tokens;
      --snapshot.tokens_left;
      if (!std::exchange(running[share.sequence].first_token, true)) {
        EXPECT_GE(running[share.sequence].arrived, last_first_token) << "in order of arrival";
        last_first_token = running[share.sequence].arrived;
      }
    }
    ASSERT_EQ(advanced, decoding) << "a token a step for everyone who decodes";
    if (prompts > 0) {
      ASSERT_GT(prompt_rows, 0);
    }
    finished += static_cast<int>(
        std::erase_if(running, [](const Life& life) { return life.snapshot.tokens_left == 0; }));
    prompt_rows_read += prompt_rows;
  }
  EXPECT_GT(finished, 100);
  EXPECT_GT(prompt_rows_read, 4000);
}

}  // namespace
}  // namespace hunch

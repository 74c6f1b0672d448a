#include "apps/bench_stats.h"

#include <gtest/gtest.h>

namespace hunch {
namespace {

RequestOutput Output(std::vector<TokenId> ids, std::string text) {
  RequestOutput output;
  output.token_ids = std::move(ids);
  output.text = std::move(text);
  output.finish_reason = FinishReason::kStop;
  return output;
}

TEST(CompareOutputs, EqualIsNoDifference) {
  EXPECT_FALSE(CompareOutputs(Output({1, 2}, "ab"), Output({1, 2}, "ab")).has_value());
  EXPECT_FALSE(CompareOutputs(Output({}, ""), Output({}, "")).has_value());
}

TEST(CompareOutputs, NamesTheFirstTokenThatDiffers) {
  const auto changed = CompareOutputs(Output({1, 2, 3}, ""), Output({1, 9, 8}, ""));
  ASSERT_TRUE(changed.has_value());
  EXPECT_EQ(changed->position, 1u);
  EXPECT_EQ(changed->expected, 2);
  EXPECT_EQ(changed->got, 9);
  const auto shorter = CompareOutputs(Output({1, 2}, ""), Output({1}, ""));
  ASSERT_TRUE(shorter.has_value());
  EXPECT_EQ(shorter->position, 1u);
  EXPECT_EQ(shorter->expected, 2);
  EXPECT_FALSE(shorter->got.has_value());
  const auto longer = CompareOutputs(Output({}, ""), Output({7}, ""));
  ASSERT_TRUE(longer.has_value());
  EXPECT_EQ(longer->position, 0u);
  EXPECT_FALSE(longer->expected.has_value());
  EXPECT_EQ(longer->got, 7);
}

TEST(CompareOutputs, SeesTextAndFinishReasonBehindEqualTokens) {
  const auto text = CompareOutputs(Output({1}, "a"), Output({1}, "b"));
  ASSERT_TRUE(text.has_value());
  EXPECT_TRUE(text->text_only);
  RequestOutput other = Output({1}, "a");
  other.finish_reason = FinishReason::kLength;
  EXPECT_TRUE(CompareOutputs(Output({1}, "a"), other).has_value());
}

TEST(SpreadOf, MedianLeastMost) {
  EXPECT_EQ(SpreadOf({}).median, 0);
  const Spread odd = SpreadOf({3, 1, 2});
  EXPECT_EQ(odd.median, 2);
  EXPECT_EQ(odd.least, 1);
  EXPECT_EQ(odd.most, 3);
  EXPECT_EQ(SpreadOf({4, 1, 2, 3}).median, 2.5);
}

BenchSample Sample(double wall, double decode, int64_t tokens, int64_t drafted = 0,
                   int64_t accepted = 0) {
  BenchSample sample{wall, 0.125, decode, tokens, {}};
  sample.speculation.drafts = drafted / 4;
  sample.speculation.draft_tokens = drafted;
  sample.speculation.accepted_tokens = accepted;
  sample.speculation.accepted_per_position = {accepted};
  sample.speculation.decode_tokens = tokens - 1;
  sample.speculation.target_passes = tokens - 1 - accepted;
  sample.speculation.draft_seconds = drafted > 0 ? wall / 4 : 0;
  return sample;
}

bool All(size_t) { return true; }

TEST(Summarise, TakesTheMedianOverRoundsOfRatiosOfSums) {
  const std::vector<BenchGroup> groups = {
      // Round 0: none 2 s + 6 s, the method 1 s + 3 s: 2.
      {0, 0, {Sample(2, 2, 11), Sample(1, 1, 11, 8, 4)}},
      {0, 1, {Sample(6, 6, 31), Sample(3, 3, 31, 8, 4)}},
      // Round 1: 8 s against 8 s: 1.
      {1, 0, {Sample(4, 2, 11), Sample(4, 2, 11, 8, 4)}},
      {1, 1, {Sample(4, 2, 31), Sample(4, 2, 31, 8, 4)}},
      // Round 2: 8 s against 2 s: 4.
      {2, 0, {Sample(4, 2, 11), Sample(1, 0.5, 11, 8, 4)}},
      {2, 1, {Sample(4, 2, 31), Sample(1, 0.5, 31, 8, 4)}},
  };
  const MethodSummary summary = Summarise(groups, 1, All);
  EXPECT_EQ(summary.answers, 6);
  EXPECT_DOUBLE_EQ(summary.speedup.median, 2);
  EXPECT_DOUBLE_EQ(summary.speedup.least, 1);
  EXPECT_DOUBLE_EQ(summary.speedup.most, 4);
  // 40 tokens after the first ones, in 4 s, 4 s and 1 s.
  EXPECT_DOUBLE_EQ(summary.tokens_per_second.median, 10);
  EXPECT_DOUBLE_EQ(summary.tokens_per_second.most, 40);
  EXPECT_DOUBLE_EQ(summary.ttft_ms, 125);
  EXPECT_EQ(summary.total.draft_tokens, 48);
  EXPECT_EQ(summary.total.accepted_tokens, 24);
  EXPECT_DOUBLE_EQ(summary.total.acceptance_rate(), 0.5);
  EXPECT_DOUBLE_EQ(summary.total.mean_accepted_length(), 3);
  EXPECT_DOUBLE_EQ(summary.draft_share, 0.25);
  EXPECT_DOUBLE_EQ(Summarise(groups, 0, All).speedup.median, 1);
}

TEST(Summarise, OnlyTheWantedPrompts) {
  const std::vector<BenchGroup> groups = {
      {0, 0, {Sample(2, 2, 11), Sample(1, 1, 11)}},
      {0, 1, {Sample(3, 3, 11), Sample(1, 1, 11)}},
  };
  const auto second = [](size_t prompt) { return prompt == 1; };
  EXPECT_EQ(Summarise(groups, 1, second).answers, 1);
  EXPECT_DOUBLE_EQ(Summarise(groups, 1, second).speedup.median, 3);
}

TEST(Summarise, AnswersOfOneTokenHaveNoRate) {
  const MethodSummary summary = Summarise({{0, 0, {Sample(1, 0, 1)}}}, 0, All);
  EXPECT_EQ(summary.tokens_per_second.median, 0);
  EXPECT_EQ(summary.speedup.median, 1);
  EXPECT_EQ(Summarise({}, 0, All).answers, 0);
}

}  // namespace
}  // namespace hunch

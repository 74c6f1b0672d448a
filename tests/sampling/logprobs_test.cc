// Tests of the reported log-probabilities: of the raw row, exact against their definition.
#include "sampling/logprobs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/ops.h"
#include "sampling/sampler.h"

namespace hunch {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TokenChoice Fill(const std::vector<float>& row, TokenId token, int count) {
  TokenChoice choice;
  choice.token = token;
  Logprobs().Fill(row.data(), static_cast<int>(row.size()), count, choice);
  return choice;
}

TEST(LogprobsTest, AreTheLogSoftmaxOfTheRow) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 4);
  std::vector<float> row(3000);
  for (float& x : row) x = std::round(normal(random) * 4) / 4;  // with ties
  const MaxSum stats = SoftmaxStats(row.data(), 3000);
  const TokenChoice choice = Fill(row, 17, 50);
  EXPECT_EQ(choice.logprob, (row[17] - stats.max) - Log(stats.sum));
  std::vector<TokenId> order(3000);
  for (int i = 0; i < 3000; ++i) order[static_cast<size_t>(i)] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](TokenId a, TokenId b) { return row[a] > row[b]; });
  ASSERT_EQ(choice.top.size(), 50u);
  for (size_t i = 0; i < 50; ++i) {
    EXPECT_EQ(choice.top[i].token, order[i]);
    EXPECT_EQ(choice.top[i].logprob, (row[order[i]] - stats.max) - Log(stats.sum));
  }
  double sum = 0;  // close to the truth, not only equal to our own formula
  for (const float x : row) sum += std::exp(static_cast<double>(x));
  EXPECT_NEAR(choice.logprob, row[17] - std::log(sum), 1e-5);
}

TEST(LogprobsTest, TheTopListIsAtMostTheVocabulary) {
  EXPECT_EQ(Fill({1, 2, 3}, 0, 3).top.size(), 3u);
  EXPECT_EQ(Fill({1, 2, 3}, 0, 0).top.size(), 0u);
  EXPECT_EQ(Fill({1, 2, -kInfinity}, 0, 3).top.size(), 2u);
}

TEST(LogprobsTest, AreNeverNan) {
  for (const std::vector<float>& row :
       {std::vector<float>{1, kNan, 3}, {kInfinity, 1, kInfinity}, {kNan, kInfinity, -kInfinity}}) {
    for (TokenId token = 0; token < 3; ++token) {
      const TokenChoice choice = Fill(row, token, 3);
      EXPECT_LE(choice.logprob, 0);
      EXPECT_FALSE(choice.top.empty());
      for (const TokenLogprob& top : choice.top) EXPECT_LE(top.logprob, 0);
    }
  }
  EXPECT_EQ(Fill({kNan, kNan}, 0, 2).logprob, -kInfinity);
}

TEST(LogprobsTest, AreOfTheRawRowWhateverTheControls) {
  const std::vector<float> row = {1, 5, 3, 4};
  SamplingParams params;
  params.temperature = 2;
  params.top_k = 1;
  params.banned_tokens = {1};
  params.repetition_penalty = 1.5f;
  params.logprobs = 2;
  Sampler sampler(params, 4, 0, {});
  const TokenChoice choice = sampler.Choose(std::vector<TokenId>{2, 2}, row);
  EXPECT_EQ(choice.token, 3);
  const TokenChoice raw = Fill(row, 3, 2);
  EXPECT_EQ(choice.logprob, raw.logprob);
  ASSERT_EQ(choice.top.size(), 2u);
  EXPECT_EQ(choice.top[0].token, 1);
  EXPECT_EQ(choice.top[1].token, 3);
  EXPECT_EQ(choice.top[1].logprob, choice.logprob);
}

TEST(LogprobsTest, OnlyWhenAskedFor) {
  SamplingParams params;
  Sampler none(params, 3, 0, {});
  EXPECT_EQ(none.Choose({}, std::vector<float>{1, 2, 3}).logprob, 0);
  params.logprobs = 0;
  Sampler chosen(params, 3, 0, {});
  const TokenChoice choice = chosen.Choose({}, std::vector<float>{1, 2, 3});
  EXPECT_LT(choice.logprob, 0);
  EXPECT_TRUE(choice.top.empty());
}

}  // namespace
}  // namespace hunch

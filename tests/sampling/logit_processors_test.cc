// Tests of the logit processors: each one's arithmetic by hand, their order, and the counts under
// walks between prefixes.
#include "sampling/logit_processors.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>
#include <vector>

namespace hunch {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

std::vector<float> Apply(const SamplingParams& params, size_t prompt_len,
                         const std::vector<TokenId>& prefix, const std::vector<float>& row,
                         std::vector<TokenId> ends = {}) {
  LogitProcessors processors(params, static_cast<int>(row.size()), prompt_len, std::move(ends));
  const float* processed = processors.Apply(prefix, row.data());
  return {processed, processed + row.size()};
}

TEST(LogitProcessorsTest, WithoutControlsTheRowIsNotCopied) {
  const std::vector<float> row = {1, 2, 3};
  LogitProcessors processors({}, 3, 0, {2});
  EXPECT_EQ(processors.Apply({}, row.data()), row.data());
}

TEST(LogitProcessorsTest, BiasAddsAndBanForbids) {
  SamplingParams params;
  params.logit_bias = {{0, 2.5f}, {2, -100.0f}, {0, 1.0f}};
  params.banned_tokens = {3};
  EXPECT_EQ(Apply(params, 0, {}, {1, 2, 3, 4}), (std::vector<float>{4.5f, 2, -97, kNever}));
}

TEST(LogitProcessorsTest, RepetitionCoversPromptAndOutputOnce) {
  SamplingParams params;
  params.repetition_penalty = 2;
  // Prompt {0, 1, 1}, output {3, 3}: positive logits are divided, negative ones multiplied.
  EXPECT_EQ(Apply(params, 3, {0, 1, 1, 3, 3}, {4, -4, 4, 6, 0}),
            (std::vector<float>{2, -8, 4, 3, 0}));
}

TEST(LogitProcessorsTest, PresenceAndFrequencyCoverTheOutputOnly) {
  SamplingParams params;
  params.presence_penalty = 0.5f;
  params.frequency_penalty = 0.25f;
  EXPECT_EQ(Apply(params, 3, {0, 1, 1, 3, 3, 1}, {4, 4, 4, 4}),
            (std::vector<float>{4, 3.25f, 4, 3}));
}

TEST(LogitProcessorsTest, BiasComesBeforePenaltiesAndRepetitionFirst) {
  SamplingParams params;
  params.logit_bias = {{0, 6.0f}};
  params.repetition_penalty = 2;
  params.presence_penalty = 1;
  EXPECT_EQ(Apply(params, 0, {0}, {2, 0}), (std::vector<float>{3, 0}));  // (2 + 6) / 2 - 1
}

TEST(LogitProcessorsTest, MinTokensForbidsEveryEndUntilReached) {
  SamplingParams params;
  params.min_tokens = 2;
  params.stop_token_ids = {1};
  const std::vector<float> row = {5, 5, 5};
  for (const size_t output : {0u, 1u}) {
    EXPECT_EQ(Apply(params, 4, std::vector<TokenId>(4 + output, 0), row, {2}),
              (std::vector<float>{5, kNever, kNever}));
  }
  EXPECT_EQ(Apply(params, 4, std::vector<TokenId>(6, 0), row, {2}), row);
}

TEST(LogitProcessorsTest, TokensOutsideTheVocabularyAreIgnored) {
  SamplingParams params;
  params.repetition_penalty = 2;
  params.min_tokens = 9;
  EXPECT_EQ(Apply(params, 2, {7, -1, 1}, {4, 4}, {9, -3}), (std::vector<float>{4, 2}));
}

TEST(PrefixCountsTest, FollowAnyWalkBetweenPrefixes) {
  constexpr int kVocab = 12;
  constexpr size_t kPrompt = 10;
  std::mt19937 random(7);
  PrefixCounts counts(kVocab, kPrompt);
  std::vector<TokenId> prefix;
  for (int step = 0; step < 2000; ++step) {
    // Cut somewhere, mostly near the end, and go on with other tokens.
    const size_t cut =
        random() % (1 + (random() % 4 == 0 ? prefix.size() : std::min<size_t>(prefix.size(), 5)));
    prefix.resize(prefix.size() - cut);
    for (uint32_t i = random() % 6; i > 0 && prefix.size() < 60; --i) {
      prefix.push_back(static_cast<TokenId>(random() % (kVocab + 2)) - 1);  // two are outside
    }
    counts.MoveTo(prefix);
    std::map<TokenId, int> output;
    std::vector<TokenId> distinct;
    for (size_t i = 0; i < prefix.size(); ++i) {
      if (prefix[i] < 0 || prefix[i] >= kVocab) continue;
      if (output.emplace(prefix[i], 0).second) distinct.push_back(prefix[i]);
      output[prefix[i]] += i >= kPrompt;
    }
    ASSERT_EQ(std::vector<TokenId>(counts.distinct().begin(), counts.distinct().end()), distinct);
    for (const TokenId token : distinct) ASSERT_EQ(counts.in_output(token), output[token]);
  }
}

}  // namespace
}  // namespace hunch

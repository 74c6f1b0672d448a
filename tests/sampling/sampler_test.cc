// Tests of the Sampler: greedy and edge rows, every control's effect on the choice, purity, and
// agreement of TopPerturbed with Choose. The choice itself is compared with its definition, argmax
// of z + G.
#include "sampling/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <vector>

#include "kernels/ops.h"
#include "kernels/row_ops.h"
#include "sampling/candidates.h"
#include "sampling/relative_row.h"

namespace hunch {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
using Prefix = std::vector<TokenId>;

TokenId Choose(const SamplingParams& params, const std::vector<float>& row,
               const Prefix& prefix = {}, size_t prompt_len = 0, std::vector<TokenId> ends = {}) {
  Sampler sampler(params, static_cast<int>(row.size()), prompt_len, std::move(ends));
  return sampler.Choose(prefix, row).token;
}

SamplingParams AtTemperature(float temperature) {
  SamplingParams params;
  params.temperature = temperature;
  return params;
}

std::vector<float> RandomRow(int n, std::mt19937& random, float spread = 3) {
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> row(static_cast<size_t>(n));
  for (float& x : row) x = normal(random);
  return row;
}

TEST(SamplerTest, GreedyTakesTheBestAndTheLowerIdOfEquals) {
  EXPECT_EQ(Choose({}, {1, 3, 2, 3}), 1);
  EXPECT_EQ(Choose({}, {kNan, 1, kNan, 2}), 3);
  EXPECT_EQ(Choose({}, {-kInfinity, -1, kInfinity, 7}), 2);
}

TEST(SamplerTest, GreedyIgnoresTheTruncations) {
  SamplingParams params;
  params.top_k = 1;
  params.top_p = 0.1f;
  params.typical_p = 0.01f;
  EXPECT_EQ(Choose(params, {1, 1.5f, 2, 1.9f}), 2);
}

TEST(SamplerTest, NanNeverWinsAtAnyTemperature) {
  std::mt19937 random(1);
  for (const bool truncate : {false, true}) {
    SamplingParams params = AtTemperature(1);
    if (truncate) params.top_p = 0.9f;
    for (int seed = 0; seed < 200; ++seed) {
      params.seed = static_cast<uint64_t>(seed);
      std::vector<float> row = RandomRow(100, random);
      for (int i = 0; i < 100; i += 3) row[static_cast<size_t>(i)] = kNan;
      EXPECT_NE(Choose(params, row) % 3, 0);
    }
  }
}

// The vocabulary may be smaller than the row: models pad their embedding (Qwen2.5: 151936 and
// 152064 rows).
TEST(SamplerTest, PaddingIsNeverChosenNorReported) {
  std::vector<float> row(320, 0.0f);
  std::fill(row.begin() + 300, row.end(), 50.0f);
  for (const float temperature : {0.0f, 1.0f, 100.0f}) {
    SamplingParams params = AtTemperature(temperature);
    params.logprobs = 20;
    Sampler sampler(params, 300, 0, {});
    std::vector<Candidate> candidates;
    for (size_t position = 0; position < 200; ++position) {
      const Prefix prefix(position, 0);
      const TokenChoice choice = sampler.Choose(prefix, row);
      EXPECT_LT(choice.token, 300);
      EXPECT_FLOAT_EQ(choice.logprob, Log(1.0f / 300));  // padding has no mass
      for (const TokenLogprob& top : choice.top) EXPECT_LT(top.token, 300);
      sampler.TopPerturbed(prefix, row, 8, candidates);
      for (const Candidate& candidate : candidates) EXPECT_LT(candidate.token, 300);
    }
  }
}

TEST(SamplerTest, WhenNothingIsLeftTheRawBestIsChosen) {
  const std::vector<float> row = {1, 4, 2};
  for (const float temperature : {0.0f, 0.7f}) {
    SamplingParams params = AtTemperature(temperature);
    params.banned_tokens = {0, 1, 2};
    EXPECT_EQ(Choose(params, row), 1);
    Sampler sampler(params, 3, 0, {});
    std::vector<Candidate> candidates;
    sampler.TopPerturbed({}, row, 5, candidates);
    ASSERT_EQ(candidates.size(), 1u);
    EXPECT_EQ(candidates[0].token, 1);
    // A row without any number: some valid token, and no crash.
    EXPECT_LT(Choose(params, {kNan, kNan}), 2);
    EXPECT_LT(Choose(AtTemperature(temperature), {-kInfinity, -kInfinity}), 2);
  }
}

TEST(SamplerTest, BannedAndBiasedTokens) {
  for (const float temperature : {0.0f, 1.0f}) {
    SamplingParams params = AtTemperature(temperature);
    params.banned_tokens = {1};
    EXPECT_NE(Choose(params, {0, 90, 0}), 1);
    params.banned_tokens.clear();
    params.logit_bias = {{2, 100.0f}};
    EXPECT_EQ(Choose(params, {0, 5, 0}), 2);
    params.logit_bias = {{1, -100.0f}};
    EXPECT_NE(Choose(params, {0, 5, 0}), 1);
  }
}

TEST(SamplerTest, MinTokensForbidsEndsUntilReached) {
  SamplingParams params;
  params.min_tokens = 2;
  params.stop_token_ids = {2};
  const std::vector<float> row = {0, 1, 9, 8};
  EXPECT_EQ(Choose(params, row, {0, 0, 0}, 3, {3}), 1);
  EXPECT_EQ(Choose(params, row, {0, 0, 0, 1}, 3, {3}), 1);
  EXPECT_EQ(Choose(params, row, {0, 0, 0, 1, 1}, 3, {3}), 2);
}

TEST(SamplerTest, TinyTemperatureIsGreedyAndHugeIsUniform) {
  std::mt19937 random(2);
  for (const float temperature : {1e-6f, 1e-20f, 1e-44f}) {
    for (int round = 0; round < 50; ++round) {
      const std::vector<float> row = RandomRow(500, random);
      const TokenId best =
          static_cast<TokenId>(std::max_element(row.begin(), row.end()) - row.begin());
      SamplingParams params = AtTemperature(temperature);
      params.seed = static_cast<uint64_t>(round);
      EXPECT_EQ(Choose(params, row), best);
      params.top_p = 0.9f;
      params.typical_p = 0.9f;
      EXPECT_EQ(Choose(params, row), best);
    }
  }
  // 400 draws of 20 tokens: each is missed with probability 20 e^-20.
  SamplingParams params = AtTemperature(1e30f);
  const std::vector<float> row = RandomRow(20, random);
  Sampler sampler(params, 20, 0, {});
  std::set<TokenId> seen;
  for (size_t position = 0; position < 400; ++position) {
    seen.insert(sampler.Choose(Prefix(position, 0), row).token);
  }
  EXPECT_EQ(seen.size(), 20u);
}

TEST(SamplerTest, ChoosesTheArgmaxOfScaledLogitPlusKeyedNoise) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const int n = 1 + static_cast<int>(random() % 3000);
    const std::vector<float> row = RandomRow(n, random);
    SamplingParams params = AtTemperature(round % 3 == 0 ? 0.2f : round % 3 == 1 ? 1.0f : 9.0f);
    params.seed = (uint64_t{random()} << 32) | random();
    params.choice = random() % 4;
    const Prefix prefix(random() % 50, 0);
    std::vector<float> noise(row.size());
    GumbelRow(params.seed, params.choice, prefix.size(), 0, n, noise.data());
    const float max = *std::max_element(row.begin(), row.end());
    TokenId best = 0;
    float best_score = -kInfinity;
    for (int i = 0; i < n; ++i) {
      const float score = (row[i] - max) / params.temperature + noise[i];
      if (score > best_score) {
        best_score = score;
        best = i;
      }
    }
    EXPECT_EQ(Choose(params, row, prefix), best);
  }
}

// Top-p alone has a way of its own, which does without the row's exact mass where it can.
TEST(SamplerTest, TopPChoosesTheBestOfWhatItKeeps) {
  std::mt19937 random(31);
  int last_kept = 0, beyond = 0;
  for (int round = 0; round < 3000; ++round) {
    const int n = 1 + static_cast<int>(random() % (round % 10 == 0 ? 9000 : 300));
    std::vector<float> x = RandomRow(n, random);
    if (round % 4 == 0) {
      for (float& value : x) value = std::round(value);  // many ties, also where top-p cuts
    }
    if (round % 5 == 0) x[random() % x.size()] = kNan;
    SamplingParams params = AtTemperature(round % 3 == 0 ? 0.3f : round % 3 == 1 ? 1.0f : 5.0f);
    params.top_p = round % 7 == 0 ? 0.3f : round % 7 == 1 ? 0.999f : 0.9f;
    params.seed = round;
    const Prefix prefix(random() % 50, 0);
    RelativeRow row;
    row.Reset(x.data(), n, params.temperature);
    if (row.empty()) continue;
    Candidates kept;
    kept.Select(row, Truncation(params));
    std::vector<float> noise(x.size());
    GumbelRow(params.seed, params.choice, prefix.size(), 0, n, noise.data());
    const auto score = [&](int i) { return kept.z(i) + noise[kept.id(i)]; };
    int best = 0;
    for (int i = 1; i < kept.size(); ++i) best = score(i) > score(best) ? i : best;
    ASSERT_EQ(Choose(params, x, prefix), kept.id(best)) << round;
    // How near the cut the cases come: the token kept last, and one beyond it that is better.
    last_kept +=
        kept.size() > 1 && kept.z(best) == *std::min_element(kept.z(), kept.z() + kept.size());
    params.top_p = 1;
    beyond += Choose(params, x, prefix) != kept.id(best);
  }
  EXPECT_GT(last_kept, 20);
  EXPECT_GT(beyond, 100);
}

// Every control at once and one by one.
std::vector<SamplingParams> AllControls() {
  std::vector<SamplingParams> all;
  for (const float temperature : {0.0f, 0.7f, 1.3f}) {
    for (int control = 0; control < 10; ++control) {
      SamplingParams params = AtTemperature(temperature);
      params.seed = 77;
      const bool every = control == 9;
      if (control == 1 || every) params.repetition_penalty = 1.3f;
      if (control == 2 || every) params.presence_penalty = 0.8f;
      if (control == 3 || every) params.frequency_penalty = 0.3f;
      if (control == 4 || every) params.top_p = 0.9f;
      if (control == 5 || every) params.top_k = 12;
      if (control == 6 || every) params.min_p = 0.02f;
      if (control == 7 || every) params.typical_p = 0.8f;
      if (control == 8 || every) {
        params.logit_bias = {{3, 2.0f}, {5, -3.0f}};
        params.banned_tokens = {8};
        params.min_tokens = 6;
      }
      all.push_back(params);
    }
  }
  return all;
}

TEST(SamplerTest, IsPureInPrefixRowAndParameters) {
  constexpr int kVocab = 150;
  constexpr size_t kPrompt = 12;
  std::mt19937 random(4);
  // Prefixes that share much, little and nothing, in random order, as the nodes of many trees
  // would.
  std::vector<Prefix> prefixes;
  for (int i = 0; i < 25; ++i) {
    Prefix prefix = prefixes.empty() ? Prefix(kPrompt, 1) : prefixes[random() % prefixes.size()];
    prefix.resize(kPrompt + random() % (prefix.size() - kPrompt + 1));
    for (uint32_t n = random() % 10; n > 0; --n)
      prefix.push_back(static_cast<TokenId>(random() % kVocab));
    prefixes.push_back(prefix);
  }
  std::vector<std::vector<float>> rows;
  for (int i = 0; i < 5; ++i) rows.push_back(RandomRow(kVocab, random, 1));
  for (const SamplingParams& params : AllControls()) {
    Sampler used(params, kVocab, kPrompt, {7});
    std::vector<Candidate> candidates;
    for (int call = 0; call < 60; ++call) {
      const Prefix& prefix = prefixes[random() % prefixes.size()];
      const std::vector<float>& row = rows[random() % rows.size()];
      const TokenId fresh = Choose(params, row, prefix, kPrompt, {7});
      ASSERT_EQ(used.Choose(prefix, row).token, fresh);
      used.TopPerturbed(prefix, row, 1 + static_cast<int>(random() % 6), candidates);
      ASSERT_EQ(candidates.front().token, fresh);
    }
  }
}

TEST(SamplerTest, TopPerturbedIsAPrefixOfTheWholeOrder) {
  constexpr int kVocab = 400;
  std::mt19937 random(5);
  for (const SamplingParams& params : AllControls()) {
    Sampler sampler(params, kVocab, 2, {7});
    const std::vector<float> row = RandomRow(kVocab, random, 1);
    const Prefix prefix = {1, 2, 3, 4, 3};
    std::vector<Candidate> all, few;
    sampler.TopPerturbed(prefix, row, kVocab, all);
    double sum = 0;
    std::set<TokenId> tokens;
    for (size_t i = 0; i < all.size(); ++i) {
      sum += static_cast<double>(all[i].probability);
      tokens.insert(all[i].token);
      if (i > 0) {
        EXPECT_GE(all[i - 1].score, all[i].score);
      }
    }
    EXPECT_EQ(tokens.size(), all.size());
    EXPECT_NEAR(sum, 1, 1e-4);
    for (const int count : {1, 3, 8}) {
      sampler.TopPerturbed(prefix, row, count, few);
      ASSERT_EQ(few.size(), std::min<size_t>(count, all.size()));
      for (size_t i = 0; i < few.size(); ++i) {
        EXPECT_EQ(few[i].token, all[i].token);
        EXPECT_EQ(few[i].score, all[i].score);
        EXPECT_EQ(few[i].probability, all[i].probability);
      }
    }
    sampler.TopPerturbed(prefix, row, 0, few);
    EXPECT_TRUE(few.empty());
  }
}

TEST(SamplerTest, SeedChoiceAndPositionKeyTheNoise) {
  const std::vector<float> flat(1000, 0.0f);
  SamplingParams params = AtTemperature(1);
  std::set<TokenId> tokens;
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32}) {
    for (const uint32_t choice : {0u, 1u}) {
      for (const size_t position : {0u, 1u, 2u}) {
        params.seed = seed;
        params.choice = choice;
        tokens.insert(Choose(params, flat, Prefix(position, 0)));
      }
    }
  }
  EXPECT_GE(tokens.size(), 17u);  // 18 draws of 1000: one pair in six such tests
}

// The maxima that a forward pass leaves spare reading, never change a choice: with NaN, infinities,
// ties, padding behind the vocabulary and a vocabulary that is no multiple of a block.
TEST(SamplerTest, TheMaximaOfTheForwardPassChangeNothing) {
  std::mt19937 random(8);
  for (int call = 0; call < 300; ++call) {
    const int n = 40 + static_cast<int>(random() % 400);
    const int vocab = n - static_cast<int>(random() % 80) % n;
    std::vector<float> row = RandomRow(n, random);
    for (float& x : row) x = std::round(x * 2) / 2;
    if (call % 3 == 0) row[random() % n] = kNan;
    if (call % 5 == 0) row[random() % n] = kInfinity;
    if (call % 7 == 0) std::fill(row.begin(), row.begin() + n / 2, -kInfinity);
    if (call % 50 == 0) std::fill(row.begin(), row.end(), kNan);
    std::vector<float> maxima(LogitBlocks(n));
    BlockMaxima(row.data(), n, maxima.data());
    SamplingParams params = AtTemperature(static_cast<float>(call % 4) * 0.5f);
    params.seed = call;
    if (call % 2 == 0) params.top_p = 0.9f;
    if (call % 6 == 1) params.top_k = 5;
    if (call % 8 == 3) params.logit_bias = {{0, 4.0f}};
    Sampler plain(params, vocab, 0, {}), told(params, vocab, 0, {});
    EXPECT_EQ(plain.Choose({}, row).token, told.Choose({}, {row, maxima.data()}).token) << call;
    std::vector<Candidate> plain_best, told_best;
    plain.TopPerturbed({}, row, 4, plain_best);
    told.TopPerturbed({}, {row, maxima.data()}, 4, told_best);
    ASSERT_EQ(plain_best.size(), told_best.size()) << call;
    for (size_t i = 0; i < plain_best.size(); ++i) {
      EXPECT_EQ(plain_best[i].token, told_best[i].token) << call;
      EXPECT_EQ(plain_best[i].score, told_best[i].score) << call;
      EXPECT_EQ(plain_best[i].probability, told_best[i].probability) << call;
    }
  }
}

// Moving between sibling branches behind a long prompt must not cost the prompt again: with it,
// this would be 2000 * 32768 counts, minutes under a sanitizer.
TEST(SamplerTest, PenaltiesBehindALongPrefixAreIncremental) {
  SamplingParams params;
  params.repetition_penalty = 1.1f;
  params.frequency_penalty = 0.1f;
  constexpr int kVocab = 50;
  Sampler sampler(params, kVocab, 30000, {});
  std::mt19937 random(6);
  Prefix prefix(32768);
  for (TokenId& token : prefix) token = static_cast<TokenId>(random() % kVocab);
  const std::vector<float> row = RandomRow(kVocab, random);
  for (int call = 0; call < 2000; ++call) {
    prefix.back() = static_cast<TokenId>(random() % kVocab);
    const TokenId token = sampler.Choose(prefix, row).token;
    if (call % 500 == 0) {
      EXPECT_EQ(token, Choose(params, row, prefix, 30000));
    }
  }
}

}  // namespace
}  // namespace hunch

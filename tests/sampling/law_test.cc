// Tests of a row's law and of draws from it without replacement, against the softmax in double.
// Chi-square with fixed seeds at p > 1e-5.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "sampling/sampler.h"
#include "support/chi_square.h"

namespace hunch {
namespace {

constexpr double kSigmas = 4.265;  // p = 1e-5
constexpr float kInfinity = std::numeric_limits<float>::infinity();
const std::vector<float> kRow = {2.0f, 1.0f, 0.5f, 0.0f, -0.5f, -1.0f, -2.0f, -3.0f};

SamplingParams AtTemperature(float temperature) {
  SamplingParams params;
  params.temperature = temperature;
  return params;
}

std::vector<float> LawOf(const SamplingParams& params, const std::vector<float>& row,
                         const std::vector<TokenId>& prefix = {}) {
  Sampler sampler(params, static_cast<int>(row.size()), 0, {});
  std::vector<float> law = {7};  // overwritten
  sampler.Law(prefix, row, law);
  return law;
}

// The softmax over the tokens that `kept` says yes to.
template <typename Kept>
std::vector<double> Softmax(const std::vector<float>& row, double temperature, Kept kept) {
  std::vector<double> p;
  double sum = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    p.push_back(kept(i) ? std::exp(static_cast<double>(row[i]) / temperature) : 0);
    sum += p.back();
  }
  for (double& x : p) x /= sum;
  return p;
}

void ExpectLaw(const std::vector<float>& law, const std::vector<double>& expected) {
  ASSERT_EQ(law.size(), expected.size());
  for (size_t i = 0; i < law.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(law[i]), expected[i], 1e-6 * expected[i] + 1e-11) << i;
  }
}

const auto kAll = [](size_t) { return true; };

TEST(LawTest, IsTheSoftmaxOfWhatIsLeft) {
  for (const float temperature : {0.3f, 1.0f, 2.0f}) {
    ExpectLaw(LawOf(AtTemperature(temperature), kRow),
              Softmax(kRow, static_cast<double>(temperature), kAll));
  }
  SamplingParams params = AtTemperature(1);
  params.top_k = 3;
  ExpectLaw(LawOf(params, kRow), Softmax(kRow, 1, [](size_t i) { return i < 3; }));
  params.top_k = 0;
  params.top_p = 0.8f;  // .516 .190 .115
  ExpectLaw(LawOf(params, kRow), Softmax(kRow, 1, [](size_t i) { return i < 3; }));
  params.top_p = 1;
  params.banned_tokens = {0, 2};
  ExpectLaw(LawOf(params, kRow), Softmax(kRow, 1, [](size_t i) { return i != 0 && i != 2; }));
}

TEST(LawTest, AppliesThePenaltiesOfThePrefix) {
  SamplingParams params = AtTemperature(1);
  params.frequency_penalty = 0.5f;
  std::vector<float> row = kRow;
  row[1] -= 1.0f;
  row[4] -= 0.5f;
  ExpectLaw(LawOf(params, kRow, {1, 4, 1}), Softmax(row, 1, kAll));
}

TEST(LawTest, IsOneHotAtTemperatureZeroAndWhereNothingIsLeft) {
  const std::vector<float> one_hot = {0, 0, 1, 0};
  EXPECT_EQ(LawOf(AtTemperature(0), {1, 2, 3, 3}), one_hot);
  SamplingParams params = AtTemperature(1);
  params.banned_tokens = {0, 1, 2, 3};
  EXPECT_EQ(LawOf(params, {1, 2, 3, 0}), one_hot);
}

TEST(LawTest, IsTotal) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(LawOf(AtTemperature(1), {nan, 0, -kInfinity, 0}), (std::vector<float>{0, .5f, 0, .5f}));
  EXPECT_EQ(LawOf(AtTemperature(1), {kInfinity, 0, kInfinity, 9}),
            (std::vector<float>{.5f, 0, .5f, 0}));
  EXPECT_EQ(LawOf(AtTemperature(1e-30f), {0, 1, 0, 0}), (std::vector<float>{0, 1, 0, 0}));
}

// Over several blocks, with padding behind the vocabulary.
TEST(LawTest, OfALongRow) {
  std::vector<float> row;
  for (int i = 0; i < 1000; ++i) row.push_back(8 * std::sin(static_cast<float>(i * i % 997)));
  row[700] = 40;  // most blocks hold nothing that has mass
  std::vector<float> padded = row;
  padded.resize(1100, 99.0f);
  SamplingParams params = AtTemperature(0.7f);
  const std::vector<float> law = LawOf(params, row);
  ExpectLaw(law, Softmax(row, static_cast<double>(0.7f), kAll));
  Sampler sampler(params, 1000, 0, {});
  std::vector<float> again;
  sampler.Law({}, padded, again);
  EXPECT_EQ(again, law);
}

// What Choose chooses over all seeds.
TEST(LawTest, IsWhatChooseFollows) {
  SamplingParams params = AtTemperature(0.8f);
  params.min_p = 0.05f;
  std::vector<double> counts(kRow.size());
  for (uint64_t seed = 0; seed < 10000; ++seed) {
    params.seed = seed;
    Sampler sampler(params, 8, 0, {});
    ++counts[static_cast<size_t>(sampler.Choose({}, kRow).token)];
  }
  const std::vector<float> law = LawOf(params, kRow);
  EXPECT_LT(ChiSquareOf(counts, {law.begin(), law.end()}).Sigmas(), kSigmas);
}

TEST(DrawTest, IsSamplingWithoutReplacement) {
  SamplingParams top_p = AtTemperature(1);
  top_p.top_p = 0.95f;
  for (const SamplingParams& params : {AtTemperature(1), AtTemperature(0.5f), top_p}) {
    const std::vector<float> law = LawOf(params, kRow);
    std::vector<double> expected;
    for (const float& first : law) {
      for (size_t second = 0; second < law.size(); ++second) {
        const double p = static_cast<double>(first), q = static_cast<double>(law[second]);
        const bool same = &law[second] == &first;
        expected.push_back(same || p >= 1 ? 0 : p * q / (1 - p));
      }
    }
    Sampler sampler(params, 8, 0, {});
    RatioNoise noise(5, 0, RatioNoise::kFirstDrafter);  // one stream, every draw from it
    std::vector<double> counts(64);
    std::vector<Candidate> drawn;
    for (int i = 0; i < 20000; ++i) {
      sampler.Draw({}, kRow, 2, noise, drawn);
      ASSERT_EQ(drawn.size(), 2u);
      ++counts[static_cast<size_t>(drawn[0].token * 8 + drawn[1].token)];
      ASSERT_FLOAT_EQ(drawn[0].probability, law[static_cast<size_t>(drawn[0].token)]);
    }
    EXPECT_LT(ChiSquareOf(counts, expected).Sigmas(), kSigmas);
  }
}

TEST(DrawTest, GivesNoMoreThanThereIs) {
  SamplingParams params = AtTemperature(1);
  params.top_k = 3;
  Sampler sampler(params, 8, 0, {});
  RatioNoise noise(5, 0, 1);
  std::vector<Candidate> drawn;
  sampler.Draw({}, kRow, 8, noise, drawn);
  EXPECT_EQ(drawn.size(), 3u);
  sampler.Draw({}, kRow, 0, noise, drawn);
  EXPECT_TRUE(drawn.empty());
}

TEST(RatioNoiseTest, IsUniformAndNeverRepeats) {
  RatioNoise noise(9, 3, RatioNoise::kVerify);
  std::vector<double> counts(100), law(100, 0.01);
  std::set<double> seen;
  for (int i = 0; i < 20000; ++i) {
    const double u = noise.Uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    EXPECT_TRUE(seen.insert(u).second);
    ++counts[static_cast<size_t>(u * 100)];
  }
  EXPECT_LT(ChiSquareOf(counts, law).Sigmas(), kSigmas);
  // Another stream, choice or seed: other numbers. The same: the same.
  RatioNoise same(9, 3, 0), stream(9, 3, 1), choice(9, 4, 0), seed(10, 3, 0), first(9, 3, 0);
  const double u = first.Uniform();
  EXPECT_EQ(same.Uniform(), u);
  EXPECT_NE(stream.Uniform(), u);
  EXPECT_NE(choice.Uniform(), u);
  EXPECT_NE(seed.Uniform(), u);
}

TEST(RatioNoiseTest, RowsLieBeyondAllPositions) {
  RatioNoise noise(9, 3, RatioNoise::kVerify), other(9, 3, RatioNoise::kFirstDrafter);
  EXPECT_GE(noise.NextRow(), uint64_t{1} << 63);
  EXPECT_NE(noise.NextRow(), other.NextRow());
}

}  // namespace
}  // namespace hunch

// Tests that keyed Gumbel choices are exact samples: chi-square against the softmax computed in
// double, with fixed seeds, at p > 0.001.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <vector>

#include "sampling/sampler.h"

namespace hunch {
namespace {

const std::vector<float> kRow = {2.0f, 1.0f, 0.5f, 0.0f, -0.5f, -1.0f, -2.0f, -3.0f};
constexpr int kVocab = 8;
constexpr int kDraws = 20000;

// What chi-square with `degrees` of freedom exceeds with probability 0.001 (Wilson and Hilferty).
double Critical(int degrees) {
  const double v = 2.0 / (9.0 * degrees);
  return degrees * std::pow(1 - v + 3.0902 * std::sqrt(v), 3);
}

// Cells with too few expected draws are counted together.
void ExpectDistributed(const std::vector<double>& counts,
                       const std::vector<double>& probabilities) {
  double total = 0;
  for (const double count : counts) total += count;
  double statistic = 0, rest_count = 0, rest_expected = 0;
  int cells = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double expected = probabilities[i] * total;
    if (expected < 5) {
      rest_count += counts[i];
      rest_expected += expected;
      continue;
    }
    statistic += (counts[i] - expected) * (counts[i] - expected) / expected;
    ++cells;
  }
  if (rest_expected >= 5) {
    statistic += (rest_count - rest_expected) * (rest_count - rest_expected) / rest_expected;
    ++cells;
  } else {
    EXPECT_LE(rest_count, 20 + rest_expected);
  }
  ASSERT_GE(cells, 2);
  EXPECT_LT(statistic, Critical(cells - 1)) << cells << " cells";
}

// Softmax of row / temperature over the tokens that are not -inf.
std::vector<double> Softmax(const std::vector<double>& row, double temperature) {
  std::vector<double> p;
  double sum = 0;
  for (const double x : row) {
    p.push_back(std::exp(x / temperature));
    sum += p.back();
  }
  for (double& x : p) x /= sum;
  return p;
}

// Keeps the listed tokens and renormalises.
std::vector<double> Restrict(std::vector<double> p, const std::vector<TokenId>& kept) {
  double sum = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    if (std::find(kept.begin(), kept.end(), static_cast<TokenId>(i)) == kept.end()) p[i] = 0;
    sum += p[i];
  }
  for (double& x : p) x /= sum;
  return p;
}

std::vector<double> Row() { return {kRow.begin(), kRow.end()}; }

// Counts of kDraws choices at `prefix`, one per seed.
std::vector<double> CountsOverSeeds(SamplingParams params, const std::vector<TokenId>& prefix,
                                    size_t prompt_len) {
  std::vector<double> counts(kVocab);
  for (int seed = 0; seed < kDraws; ++seed) {
    params.seed = static_cast<uint64_t>(seed);
    Sampler sampler(params, kVocab, prompt_len, {});
    ++counts[static_cast<size_t>(sampler.Choose(prefix, kRow).token)];
  }
  return counts;
}

SamplingParams AtTemperature(float temperature) {
  SamplingParams params;
  params.temperature = temperature;
  return params;
}

TEST(DistributionTest, ChoicesFollowTheSoftmaxOverSeeds) {
  for (const float temperature : {0.5f, 1.0f, 2.0f}) {
    ExpectDistributed(CountsOverSeeds(AtTemperature(temperature), {1, 2}, 1),
                      Softmax(Row(), static_cast<double>(temperature)));
  }
}

TEST(DistributionTest, ChoicesFollowTheSoftmaxOverPositionsAndChoices) {
  SamplingParams params = AtTemperature(1);
  params.seed = 1234;
  std::vector<double> over_positions(kVocab), over_choices(kVocab);
  Sampler sampler(params, kVocab, 0, {});
  std::vector<TokenId> prefix;
  for (int i = 0; i < kDraws; ++i) {
    prefix.push_back(0);
    ++over_positions[static_cast<size_t>(sampler.Choose(prefix, kRow).token)];
    params.choice = static_cast<uint32_t>(i);
    Sampler other(params, kVocab, 0, {});
    ++over_choices[static_cast<size_t>(other.Choose({}, kRow).token)];
  }
  ExpectDistributed(over_positions, Softmax(Row(), 1));
  ExpectDistributed(over_choices, Softmax(Row(), 1));
}

TEST(DistributionTest, WithPenalties) {
  SamplingParams params = AtTemperature(1);
  params.repetition_penalty = 1.5f;
  params.frequency_penalty = 0.5f;
  params.presence_penalty = 0.25f;
  std::vector<double> row = Row();
  // Prompt {1}, output {0, 0, 6}.
  row[1] = 1.0 / 1.5;
  row[0] = 2.0 / 1.5 - 2 * 0.5 - 0.25;
  row[6] = -2.0 * 1.5 - 0.5 - 0.25;
  ExpectDistributed(CountsOverSeeds(params, {1, 0, 0, 6}, 1), Softmax(row, 1));
}

TEST(DistributionTest, WithTruncations) {
  // softmax at T = 1: .516 .190 .115 .070 .042 .026 .009 .003 (and rest)
  SamplingParams params = AtTemperature(1);
  params.top_p = 0.8f;
  const std::vector<double> softmax = Softmax(Row(), 1);
  ExpectDistributed(CountsOverSeeds(params, {}, 0), Restrict(softmax, {0, 1, 2}));
  params.top_p = 1;
  params.top_k = 2;
  ExpectDistributed(CountsOverSeeds(params, {}, 0), Restrict(softmax, {0, 1}));
  params.top_k = 0;
  params.min_p = 0.1f;
  ExpectDistributed(CountsOverSeeds(params, {}, 0), Restrict(softmax, {0, 1, 2, 3}));
  params.min_p = 0;
  params.banned_tokens = {0};
  ExpectDistributed(CountsOverSeeds(params, {}, 0), Restrict(softmax, {1, 2, 3, 4, 5, 6, 7}));
}

// The joint counts of two choices that differ in one part of the key are the product of the two.
void ExpectIndependent(const std::function<void(SamplingParams&, size_t&)>& second) {
  std::vector<double> joint(kVocab * kVocab);
  for (int seed = 0; seed < kDraws; ++seed) {
    SamplingParams params = AtTemperature(1);
    params.seed = 2 * static_cast<uint64_t>(seed);
    size_t position = 5;
    TokenId tokens[2];
    for (TokenId& token : tokens) {
      Sampler sampler(params, kVocab, 0, {});
      token = sampler.Choose(std::vector<TokenId>(position, 0), kRow).token;
      second(params, position);
    }
    ++joint[static_cast<size_t>(tokens[0] * kVocab + tokens[1])];
  }
  const std::vector<double> p = Softmax(Row(), 1);
  std::vector<double> product;
  for (const double a : p) {
    for (const double b : p) product.push_back(a * b);
  }
  ExpectDistributed(joint, product);
}

TEST(DistributionTest, NeighbouringPositionsChoicesAndSeedsAreIndependent) {
  ExpectIndependent([](SamplingParams&, size_t& position) { ++position; });
  ExpectIndependent([](SamplingParams& params, size_t&) { ++params.choice; });
  ExpectIndependent([](SamplingParams& params, size_t&) { ++params.seed; });
}

}  // namespace
}  // namespace hunch

// Tests of the truncations: small cases by hand, and the fast selection against the definition
// written out plainly, on rows of every shape.
#include "sampling/candidates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/ops.h"

namespace hunch {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<int32_t> Select(const std::vector<float>& x, const SamplingParams& params) {
  RelativeRow row;
  row.Reset(x.data(), static_cast<int>(x.size()), params.temperature);
  Candidates candidates;
  candidates.Select(row, Truncation(params));
  std::vector<int32_t> ids;
  for (int i = 0; i < candidates.size(); ++i) {
    EXPECT_EQ(candidates.z(i), row.z(candidates.id(i)));
    ids.push_back(candidates.id(i));
  }
  EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
  return ids;
}

struct Item {
  int32_t id;
  float z;
  uint64_t mass;
  float distance;
};

// Keeps the fewest first items that have `share` of the mass.
void KeepShare(std::vector<Item>& items, float share) {
  uint64_t total = 0;
  for (const Item& item : items) total += item.mass;
  const auto wanted =
      static_cast<uint64_t>(static_cast<double>(share) * static_cast<double>(total));
  uint64_t sum = 0;
  size_t kept = 0;
  do {
    sum += items[kept++].mass;
  } while (sum < wanted && kept < items.size());
  items.resize(kept);
}

// The definition in candidates.h, step by step over a sorted list.
std::vector<int32_t> Definition(const std::vector<float>& x, const SamplingParams& params) {
  float max = -kInfinity;
  for (const float value : x) max = value > max ? value : max;
  std::vector<Item> items;
  for (size_t i = 0; i < x.size(); ++i) {
    const float z = (x[i] - max) / params.temperature;
    if (!(z > -kInfinity) || (params.min_p > 0 && z < Log(params.min_p))) continue;
    items.push_back({static_cast<int32_t>(i), z, static_cast<uint64_t>(Exp(z) * 0x1p40f), 0});
  }
  const auto better = [](const Item& a, const Item& b) {
    return a.z != b.z ? a.z > b.z : a.id < b.id;
  };
  std::sort(items.begin(), items.end(), better);
  if (params.top_k > 0 && static_cast<size_t>(params.top_k) < items.size())
    items.resize(params.top_k);
  if (params.top_p < 1 || params.typical_p < 1) {
    std::erase_if(items, [](const Item& item) { return item.mass == 0; });
  }
  if (params.top_p < 1) KeepShare(items, params.top_p);
  if (params.typical_p < 1) {
    std::vector<Item> by_id = items;
    std::sort(by_id.begin(), by_id.end(), [](const Item& a, const Item& b) { return a.id < b.id; });
    double weighted = 0, total = 0;
    for (const Item& item : by_id) {
      weighted += static_cast<double>(item.mass) * static_cast<double>(item.z);
      total += static_cast<double>(item.mass);  // below 2^53: exact
    }
    for (Item& item : items)
      item.distance = std::fabs(item.z - static_cast<float>(weighted / total));
    std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
      return a.distance != b.distance ? a.distance < b.distance : a.id < b.id;
    });
    KeepShare(items, params.typical_p);
  }
  std::vector<int32_t> ids;
  for (const Item& item : items) ids.push_back(item.id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

SamplingParams AtOne() {
  SamplingParams params;
  params.temperature = 1;
  return params;
}

// Logits whose softmax at T = 1 is .5, .25, .125, .125, in mixed order of ids.
const std::vector<float> kHalves = {std::log(0.125f), std::log(0.5f), std::log(0.25f),
                                    std::log(0.125f)};
using Ids = std::vector<int32_t>;

TEST(CandidatesTest, TopKKeepsTheBestAndTheLowerIdOfEquals) {
  SamplingParams params = AtOne();
  params.top_k = 1;
  EXPECT_EQ(Select(kHalves, params), (Ids{1}));
  params.top_k = 3;
  EXPECT_EQ(Select(kHalves, params), (Ids{0, 1, 2}));
  params.top_k = 9;
  EXPECT_EQ(Select(kHalves, params), (Ids{0, 1, 2, 3}));
}

TEST(CandidatesTest, TopPIncludesTheTokenThatCrosses) {
  SamplingParams params = AtOne();
  const std::pair<float, Ids> cases[] = {{1e-9f, {1}},    {0.49f, {1}},       {0.51f, {1, 2}},
                                         {0.74f, {1, 2}}, {0.76f, {0, 1, 2}}, {0.9f, {0, 1, 2, 3}}};
  for (const auto& [top_p, wanted] : cases) {
    params.top_p = top_p;
    EXPECT_EQ(Select(kHalves, params), wanted) << top_p;
  }
}

TEST(CandidatesTest, MinPIsRelativeToTheBest) {
  SamplingParams params = AtOne();
  const std::pair<float, Ids> cases[] = {
      {1.0f, {1}}, {0.51f, {1}}, {0.49f, {1, 2}}, {0.24f, {0, 1, 2, 3}}};
  for (const auto& [min_p, wanted] : cases) {
    params.min_p = min_p;
    EXPECT_EQ(Select(kHalves, params), wanted) << min_p;
  }
}

TEST(CandidatesTest, TopPIsOfWhatTopKLeft) {
  SamplingParams params = AtOne();
  params.top_k = 2;  // leaves 2/3 and 1/3
  params.top_p = 0.65f;
  EXPECT_EQ(Select(kHalves, params), (Ids{1}));
  params.top_p = 0.68f;
  EXPECT_EQ(Select(kHalves, params), (Ids{1, 2}));
}

TEST(CandidatesTest, TypicalCanDropTheBest) {
  // p = .4 and sixty times .01: the entropy is near -log .01, so the many are typical and the one
  // is not.
  std::vector<float> x(61, std::log(0.01f));
  x[30] = std::log(0.4f);
  SamplingParams params = AtOne();
  params.typical_p = 0.495f;
  const Ids kept = Select(x, params);
  EXPECT_EQ(kept.size(), 50u);
  EXPECT_EQ(std::count(kept.begin(), kept.end(), 30), 0);
}

TEST(CandidatesTest, TemperatureComesBeforeTheTruncations) {
  SamplingParams params = AtOne();
  params.temperature = 2;  // softmax is now .35, .25, .18, .18 or so
  params.top_p = 0.5f;
  EXPECT_EQ(Select(kHalves, params), (Ids{1, 2}));
}

// A row of n logits: `shape` picks its kind.
std::vector<float> Row(int n, int shape, std::mt19937& random) {
  std::normal_distribution<float> normal(0, shape % 2 == 0 ? 3.0f : 0.2f);
  std::vector<float> x(static_cast<size_t>(n));
  for (float& value : x) {
    value = normal(random);
    if (shape / 2 == 1) value = std::round(value);  // many ties
    if (shape / 2 == 2 && random() % 8 == 0) value = random() % 2 == 0 ? kNan : -kInfinity;
    if (shape / 2 == 3) value = -kInfinity;
  }
  if (shape / 2 == 3) x[random() % x.size()] = -5;  // one is left
  return x;
}

TEST(CandidatesTest, EqualTheDefinition) {
  std::mt19937 random(11);
  const auto pick = [&](std::initializer_list<float> values) {
    return values.begin()[random() % values.size()];
  };
  for (int round = 0; round < 1500; ++round) {
    const std::vector<float> x =
        Row(1 + static_cast<int>(random() % (round % 10 == 0 ? 9000 : 200)), round % 8, random);
    SamplingParams params;
    params.temperature = pick({0.05f, 0.7f, 1.0f, 1.3f, 50.0f});
    params.top_k = static_cast<int>(pick({0, 0, -1, 1, 3, 40, 130, 5000}));
    params.min_p = pick({0, 0, 1e-30f, 0.01f, 0.3f, 1});
    params.top_p = pick({1, 1, 0.05f, 0.5f, 0.95f, 0.9999999f});
    params.typical_p = pick({1, 1, 0.1f, 0.5f, 0.95f});
    if (!Truncation(params).any()) continue;
    ASSERT_EQ(Select(x, params), Definition(x, params))
        << "round " << round << " n " << x.size() << " T " << params.temperature << " k "
        << params.top_k << " min_p " << params.min_p << " top_p " << params.top_p << " typical "
        << params.typical_p;
  }
}

TEST(CandidatesTest, TotalMassIsTheSumOverTokens) {
  std::mt19937 random(3);
  for (int shape = 0; shape < 8; ++shape) {
    const std::vector<float> x = Row(1000, shape, random);
    RelativeRow row;
    row.Reset(x.data(), 1000, 0.8f);
    uint64_t sum = 0;
    for (int i = 0; i < 1000; ++i) sum += Mass(row.z(i));
    EXPECT_EQ(row.mass(), sum);
    EXPECT_GE(sum, uint64_t{1} << 40);
  }
}

TEST(CandidatesTest, SelectBestTakesTheBestFew) {
  const std::vector<float> x = {1, kNan, 5, -kInfinity, 5, 3};
  RelativeRow row;
  row.Reset(x.data(), 6, 1);
  Candidates candidates;
  const auto best = [&](int count) {
    candidates.SelectBest(row, count);
    Ids ids;
    for (int i = 0; i < candidates.size(); ++i) ids.push_back(candidates.id(i));
    return ids;
  };
  EXPECT_EQ(best(1), (Ids{2}));
  EXPECT_EQ(best(2), (Ids{2, 4}));
  EXPECT_EQ(best(3), (Ids{2, 4, 5}));
  EXPECT_EQ(best(6), (Ids{0, 2, 4, 5}));
}

TEST(RelativeRowTest, BlocksBoundTheirTokens) {
  std::mt19937 random(5);
  for (const int n : {1, 63, 64, 65, 1000}) {
    std::vector<float> x = Row(n, 4, random);
    x[0] = 0;
    RelativeRow row;
    row.Reset(x.data(), n, 0.3f);
    ASSERT_FALSE(row.empty());
    float best = -kInfinity;
    for (int i = 0; i < n; ++i) {
      if (std::isnan(x[i])) continue;
      EXPECT_LE(row.z(i), row.block_z(i / RelativeRow::kBlock));
      best = std::max(best, row.z(i));
    }
    EXPECT_EQ(best, 0);
    EXPECT_EQ(row.block_z(row.best_block()), 0);
  }
}

TEST(RelativeRowTest, PlusInfinityLeavesOnlyItsTokens) {
  const std::vector<float> x = {1, kInfinity, kNan, 3, kInfinity};
  RelativeRow row;
  row.Reset(x.data(), 5, 0.5f);
  EXPECT_EQ(row.z(1), 0);
  EXPECT_EQ(row.z(4), 0);
  for (const int i : {0, 2, 3}) EXPECT_EQ(row.z(i), -kInfinity);
}

TEST(RelativeRowTest, KnowsWhenNothingIsLeft) {
  const std::vector<float> x = {kNan, -kInfinity};
  RelativeRow row;
  row.Reset(x.data(), 2, 1);
  EXPECT_TRUE(row.empty());
}

}  // namespace
}  // namespace hunch

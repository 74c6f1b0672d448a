// The ops on logits rows: against their definitions written a second time, token by token, and the
// same bits on every instruction set.
#include "kernels/row_ops.h"

#include "ops_support.h"

namespace hunch {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Logits as real ones are, with what may not disturb: NaN, minus infinity, a flat stretch.
std::vector<float> Logits(int n, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 4);
  std::vector<float> row(n);
  for (float& x : row) x = normal(random);
  for (int i = 0; i < n; i += 97) row[i] = -kInf;
  for (int i = 5; i < n; i += 131) row[i] = kNan;
  for (int i = 128; i < std::min(n, 200); ++i) row[i] = kNan;
  return row;
}

std::vector<float> Maxima(Isa isa, const std::vector<float>& row) {
  std::vector<float> maxima(LogitBlocks(row.size()) + 1, 77.0f);
  RowOpsFor(isa)->block_maxima(row.data(), row.size(), maxima.data());
  EXPECT_EQ(maxima.back(), 77.0f) << "wrote past the end";
  maxima.pop_back();
  return maxima;
}

constexpr int kSizes[] = {1, 15, 16, 63, 64, 65, 128, 200, 1000, 49152, 151936};

TEST(RowOpsTest, BlockMaximaAreTheLargestOfSixtyFour) {
  for (Isa isa : SupportedIsas()) {
    for (int n : kSizes) {
      const std::vector<float> row = Logits(n, n);
      const std::vector<float> got = Maxima(isa, row);
      for (size_t block = 0; block < got.size(); ++block) {
        float largest = -kInf;
        for (int i = 64 * block; i < std::min<int>(n, 64 * block + 64); ++i) {
          if (row[i] > largest) largest = row[i];
        }
        ASSERT_EQ(got[block], largest) << IsaName(isa) << " " << n << " block " << block;
      }
    }
  }
}

TEST(RowOpsTest, MassIsTheSumOfEachTokensShareInWholeUnits) {
  for (int n : kSizes) {
    for (float temperature : {1.0f, 0.8f, 0.05f, 50.0f}) {
      const std::vector<float> row = Logits(n, n + 1);
      const std::vector<float> maxima = Maxima(Isa::kRef, row);
      const float max = *std::max_element(maxima.begin(), maxima.end());
      if (max == -kInf) continue;
      uint64_t truth = 0;
      for (float x : row) {
        const float z = (x - max) / temperature;
        if (z >= kLeastWithMass) truth += static_cast<uint64_t>(double{Exp(z)} * 0x1p40);
      }
      for (Isa isa : SupportedIsas()) {
        ASSERT_EQ(RowOpsFor(isa)->mass_sum(row.data(), n, maxima.data(), max, temperature), truth)
            << IsaName(isa) << " " << n << " " << temperature;
      }
    }
  }
}

TEST(RowOpsTest, BoundsHoldTheMassAndAreNarrow) {
  for (int n : kSizes) {
    for (float temperature : {1.0f, 0.8f, 0.05f, 50.0f, 1e30f, 1e-19f, 1e-30f, 1e-40f}) {
      const std::vector<float> row = Logits(n, n + 2);
      const std::vector<float> maxima = Maxima(Isa::kRef, row);
      const float max = *std::max_element(maxima.begin(), maxima.end());
      if (max == -kInf) continue;
      const uint64_t mass = MassSum(row.data(), n, maxima.data(), max, temperature);
      const MassBounds bounds = BoundMass(row.data(), n, maxima.data(), max, temperature);
      ASSERT_LE(bounds.least, mass) << n << " " << temperature;
      ASSERT_GE(bounds.most, mass) << n << " " << temperature;
      if (temperature < 1e-20f) continue;
      ASSERT_GT(1.017 * static_cast<double>(bounds.least), static_cast<double>(bounds.most));
      const double truth =
          RowOpsFor(Isa::kRef)->mass_estimate(row.data(), n, maxima.data(), max, temperature);
      for (Isa isa : SupportedIsas()) {
        ASSERT_EQ(RowOpsFor(isa)->mass_estimate(row.data(), n, maxima.data(), max, temperature),
                  truth)
            << IsaName(isa) << " " << n << " " << temperature;
      }
    }
  }
}

// Both ends of the bounds are reached, so neither can be moved: every place within an octave.
TEST(RowOpsTest, BoundsAreThoseOfTheWorstRow) {
  double least = 1, most = 1;
  for (int step = 0; step <= 1000; ++step) {
    std::vector<float> row(64 * 1000, -static_cast<float>(step) * 1e-3f * std::log(2.0f) - 1);
    row[0] = 0;
    const std::vector<float> maxima = Maxima(Isa::kRef, row);
    const auto mass =
        static_cast<double>(MassSum(row.data(), row.size(), maxima.data(), 0.0f, 1.0f));
    const MassBounds bounds = BoundMass(row.data(), row.size(), maxima.data(), 0.0f, 1.0f);
    least = std::max(least, static_cast<double>(bounds.least) / mass);
    most = std::min(most, static_cast<double>(bounds.most) / mass);
  }
  EXPECT_LE(least, 1);
  EXPECT_GT(least, 1 - 3e-4);
  EXPECT_GE(most, 1);
  EXPECT_LT(most, 1 + 3e-4);
}

TEST(RowOpsTest, AboveMarksWhatIsAbove) {
  const std::vector<float> row = Logits(640, 3);
  for (int first = 0; first + 64 <= 640; first += 64) {
    for (float bound : {-kInf, -3.0f, row[first + 7], kInf}) {
      uint64_t truth = 0;
      for (int i = 0; i < 64; ++i) truth |= uint64_t{row[first + i] > bound} << i;
      for (Isa isa : SupportedIsas()) {
        ASSERT_EQ(RowOpsFor(isa)->above(row.data() + first, bound), truth) << IsaName(isa);
      }
    }
  }
}

TEST(RowOpsTest, AFlatRowOfTheWholeVocabularyDoesNotOverflow) {
  const std::vector<float> row(600000, 3.0f);
  for (Isa isa : SupportedIsas()) {
    const std::vector<float> maxima = Maxima(isa, row);
    EXPECT_EQ(RowOpsFor(isa)->mass_sum(row.data(), row.size(), maxima.data(), 3.0f, 0.7f),
              uint64_t{600000} << 40)
        << IsaName(isa);
  }
}

TEST(RowOpsTest, ABlocksNoiseIsMadeWhereAWordReachesTheBound) {
  int made = 0;
  for (int64_t first = 0; first < 64 * 400; first += 64) {
    std::vector<float> truth(64);
    OpsFor(Isa::kRef)->gumbel_row(9, 1, 5, first, 64, truth.data());
    std::vector<float> got(65, 77.0f);
    for (float bound : {-1.0f, 0x1p24f, 0x1p27f, 0x1p32f}) {
      const bool expected = RowOpsFor(Isa::kRef)->gumbel_block(9, 1, 5, first, bound, got.data());
      made += expected;
      for (Isa isa : SupportedIsas()) {
        std::vector<float> row(65, 77.0f);
        ASSERT_EQ(RowOpsFor(isa)->gumbel_block(9, 1, 5, first, bound, row.data()), expected);
        const std::vector<float> untouched(64, 77.0f);
        ASSERT_TRUE(SameRow(std::span(row).first(64), expected ? truth : untouched))
            << IsaName(isa) << " " << first;
        ASSERT_EQ(row[64], 77.0f);
      }
      // Made exactly where a token's noise beats that of the bound: w = bound 2^-32.
      const double least = -std::log(-std::log1p(-double{bound} * 0x1p-32));
      const float largest = *std::max_element(truth.begin(), truth.end());
      if (bound < 0 || bound == 0x1p32f) continue;
      if (std::fabs(largest - least) < 1e-3) continue;
      ASSERT_EQ(expected, largest > least) << first;
    }
  }
  EXPECT_GT(made, 400 + 300);
  EXPECT_LT(made, 3 * 400);
}

}  // namespace
}  // namespace hunch

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

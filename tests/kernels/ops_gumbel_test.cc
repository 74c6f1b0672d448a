// The keyed Gumbel noise: its definition written a second time in double on the scalar generator,
// the same bits on every instruction set and for every cut of the vocabulary, and its law.
#include <algorithm>

#include "base/philox.h"
#include "kernels/ops.h"
#include "ops_support.h"

namespace hunch {
namespace {

std::vector<float> Noise(Isa isa, uint64_t seed, uint32_t choice, uint64_t position, int64_t first,
                         int64_t n) {
  std::vector<float> row(n + 1, 77.0f);
  OpsFor(isa)->gumbel_row(seed, choice, position, first, n, row.data());
  EXPECT_EQ(row[n], 77.0f) << "wrote past the end";
  row.pop_back();
  return row;
}

TEST(GumbelTest, NearTheDefinitionInDouble) {
  const uint64_t seed = 0x123456789abcdef0, position = 0x700000009;
  const std::vector<float> got = Noise(Isa::kRef, seed, 3, position, 0, 20000);
  for (uint32_t token = 0; token < got.size(); ++token) {
    const PhiloxCounter words =
        Philox4x32({token >> 2, 3, static_cast<uint32_t>(position), 7}, {0x9abcdef0, 0x12345678});
    const double w = (words[token & 3] + 0.5) * 0x1p-32;
    const double truth = -std::log(-std::log1p(-w));
    // Near w = 1 fp32 keeps few digits of 1 - w: the lower tail, which no argmax looks at.
    const double tolerance = w < 0.9 ? 1e-6 * std::max(1.0, std::fabs(truth)) : 3e-7 / (1 - w);
    ASSERT_NEAR(got[token], truth, tolerance) << token;
  }
}

TEST(GumbelTest, IsaEqualsReferenceForEveryCut) {
  for (Isa isa : SupportedIsas()) {
    const std::vector<float> whole = Noise(Isa::kRef, 42, 0, 17, 0, 300);
    for (int first : {0, 1, 2, 3, 4, 5, 15, 16, 31, 33, 100}) {
      for (int n : {0, 1, 2, 3, 4, 15, 16, 17, 31, 32, 33, 64, 100, 199}) {
        const std::vector<float> part = Noise(isa, 42, 0, 17, first, n);
        ASSERT_TRUE(SameRow(std::span(whole).subspan(first, n), part))
            << IsaName(isa) << " " << first << " + " << n;
      }
    }
    EXPECT_TRUE(SameRow(Noise(Isa::kRef, ~uint64_t{0}, 9, ~uint64_t{0}, 151900, 5000),
                        Noise(isa, ~uint64_t{0}, 9, ~uint64_t{0}, 151900, 5000)));
  }
}

TEST(GumbelTest, EveryPartOfTheKeyMatters) {
  const std::vector<float> base = Noise(ActiveIsa(), 1, 2, 3, 0, 64);
  const std::vector<float> others[] = {Noise(ActiveIsa(), 2, 2, 3, 0, 64),
                                       Noise(ActiveIsa(), 1 + (uint64_t{1} << 32), 2, 3, 0, 64),
                                       Noise(ActiveIsa(), 1, 1, 3, 0, 64),
                                       Noise(ActiveIsa(), 1, 2, 4, 0, 64),
                                       Noise(ActiveIsa(), 1, 2, 3 + (uint64_t{1} << 32), 0, 64),
                                       Noise(ActiveIsa(), 1, 2, 3, 64, 64)};
  for (const auto& other : others) {
    int same = 0;
    for (int i = 0; i < 64; ++i) same += base[i] == other[i];
    EXPECT_LE(same, 1);
  }
}

TEST(GumbelTest, MomentsQuantilesAndUpperTail) {
  const int64_t vocabulary = 152064;
  const int rows = 60;
  double sum = 0, squares = 0, max_sum = 0, max_squares = 0;
  int64_t below_median = 0, above_ten = 0;
  for (int row = 0; row < rows; ++row) {
    const std::vector<float> g = Noise(ActiveIsa(), 2026, 0, row, 0, vocabulary);
    double max = -100;
    for (float x : g) {
      ASSERT_TRUE(std::isfinite(x));
      sum += x;
      squares += double{x} * x;
      below_median += x < 0.36651292f;  // -log log 2
      above_ten += x > 10.0f;
      max = std::max(max, double{x});
    }
    max_sum += max;
    max_squares += max * max;
  }
  const double n = double{vocabulary} * rows;  // 9.1 million draws
  const double mean = sum / n;
  // Five standard errors each (seeded, so this passes always or never).
  EXPECT_NEAR(mean, 0.5772157, 5 * std::sqrt(1.645 / n));
  EXPECT_NEAR(squares / n - mean * mean, 1.6449341, 5 * std::sqrt(11.9 / n));
  EXPECT_NEAR(below_median / n, 0.5, 5 * std::sqrt(0.25 / n));
  const double tail = -std::expm1(-std::exp(-10.0));
  EXPECT_NEAR(above_ten, tail * n, 5 * std::sqrt(tail * n));
  // The largest of a row is a Gumbel moved by log(vocabulary).
  const double max_mean = max_sum / rows;
  EXPECT_NEAR(max_mean, 0.5772157 + std::log(double{vocabulary}), 5 * std::sqrt(1.645 / rows));
  EXPECT_GT(max_squares / rows - max_mean * max_mean, 0.6);
  EXPECT_LT(max_squares / rows - max_mean * max_mean, 3.5);
}

}  // namespace
}  // namespace hunch

// Quantize: what it writes reads back within the format's step, exactly where the format is exact.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "quant/quant.h"

namespace hunch {
namespace {

std::vector<float> RoundTrip(TensorType type, const std::vector<float>& values) {
  std::vector<std::byte> bytes(BytesOf(type, static_cast<int64_t>(values.size())));
  Quantize(type, values, bytes);
  std::vector<float> back(values.size());
  Dequantize(type, bytes, back);
  return back;
}

struct Case {
  TensorType type;
  // Largest error as a share of the block's range (largest - smallest, 0 included for the symmetric
  // types): half a step, or a whole one where the positive extreme has no code; and the f16 scale's
  // own rounding.
  double tolerance;
};

class QuantizeRoundTrip : public testing::TestWithParam<Case> {};

TEST_P(QuantizeRoundTrip, StaysWithinAStep) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    std::normal_distribution<float> values(round % 3 == 0 ? 0.5f : 0.0f,
                                           std::pow(10.0f, static_cast<float>(round % 5) - 1));
    std::vector<float> x(64);
    for (float& value : x) value = values(random);
    const std::vector<float> back = RoundTrip(GetParam().type, x);
    for (size_t block = 0; block < 2; ++block) {
      double low = 0, high = 0;
      for (size_t i = 32 * block; i < 32 * block + 32; ++i) {
        low = std::min<double>(low, x[i]);
        high = std::max<double>(high, x[i]);
      }
      const double bound = GetParam().tolerance * std::max(high, -low);
      for (size_t i = 32 * block; i < 32 * block + 32; ++i) {
        ASSERT_LE(std::fabs(static_cast<double>(back[i]) - x[i]), bound)
            << GetTypeTraits(GetParam().type).name << " round " << round << " weight " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Types, QuantizeRoundTrip,
    testing::Values(Case{TensorType::kF32, 0}, Case{TensorType::kF16, 0x1p-11},
                    Case{TensorType::kBF16, 0x1p-8}, Case{TensorType::kQ4_0, 1.01 / 8},
                    Case{TensorType::kQ4_1, 2 * 0.52 / 15}, Case{TensorType::kQ5_0, 1.02 / 16},
                    Case{TensorType::kQ5_1, 2 * 0.54 / 31}, Case{TensorType::kQ8_0, 0.57 / 127}),
    [](const auto& info) { return std::string(GetTypeTraits(info.param.type).name); });

TEST(Quantize, MultiplesOfAPowerOfTwoAreExact) {
  std::vector<float> symmetric(32), positive(32);
  for (int i = 0; i < 32; ++i) {
    symmetric[static_cast<size_t>(i)] = 0.25f * static_cast<float>(i % 16 - 8);
    positive[static_cast<size_t>(i)] = 0.25f * static_cast<float>(i % 16) - 1.5f;
  }
  EXPECT_EQ(RoundTrip(TensorType::kQ4_0, symmetric), symmetric);
  EXPECT_EQ(RoundTrip(TensorType::kQ4_1, positive), positive);
  for (int i = 0; i < 32; ++i) {
    symmetric[static_cast<size_t>(i)] = -0.5f * static_cast<float>(i - 16);
    positive[static_cast<size_t>(i)] = 0.5f * static_cast<float>(i) - 3;
  }
  // The extreme is +8 here: d is negative.
  EXPECT_EQ(RoundTrip(TensorType::kQ5_0, symmetric), symmetric);
  EXPECT_EQ(RoundTrip(TensorType::kQ5_1, positive), positive);
  symmetric[0] = 127 * 0.5f;
  EXPECT_EQ(RoundTrip(TensorType::kQ8_0, symmetric), symmetric);
}

TEST(Quantize, ZerosConstantsAndTinyValuesStayFinite) {
  for (TensorType type : {TensorType::kQ4_0, TensorType::kQ4_1, TensorType::kQ5_0,
                          TensorType::kQ5_1, TensorType::kQ8_0}) {
    EXPECT_EQ(RoundTrip(type, std::vector<float>(32, 0.0f)), std::vector<float>(32, 0.0f));
    for (float value : {1.0f, -3.0f, 1e-40f, std::numeric_limits<float>::denorm_min()}) {
      for (float back : RoundTrip(type, std::vector<float>(32, value))) {
        EXPECT_NEAR(back, value, 0.002 * std::fabs(value) + 1e-7) << GetTypeTraits(type).name;
      }
    }
  }
}

TEST(QuantizeDeathTest, TypesWithoutAPackerAreRefused) {
  std::vector<float> x(256);
  std::vector<std::byte> bytes(144);
  EXPECT_DEATH(Quantize(TensorType::kQ4_K, x, bytes), "no packer for Q4_K");
}

}  // namespace
}  // namespace hunch

// Tests of packing to blocks: bounds on what unpacking gives back, the blocks that have no scale,
// and what the choice of scale is worth.
#include "quant/quantize.h"

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

std::vector<float> RoundTrip(const std::vector<float>& x) {
  std::vector<std::byte> packed(BytesOf(TensorType::kQ4_0, static_cast<int64_t>(x.size())));
  QuantizeQ4_0(x, packed);
  std::vector<float> back(x.size());
  Dequantize(TensorType::kQ4_0, packed, back);
  return back;
}

double SquaredError(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

// The usual packing of one block: scale = peak / -8 as f16, nearest code.
std::vector<float> Usual(const std::vector<float>& x) {
  const float peak = *std::max_element(
      x.begin(), x.end(), [](float a, float b) { return std::fabs(a) < std::fabs(b); });
  const float d = F16ToF32(F32ToF16(peak / -8));
  std::vector<float> back;
  for (const float value : x)
    back.push_back(d * std::clamp(std::floor(value / (peak / -8) + 0.5f), -8.0f, 7.0f));
  return back;
}

class QuantizeQ4_0Test : public testing::TestWithParam<float> {};

TEST_P(QuantizeQ4_0Test, IsNeverWorseThanTheUsualScale) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0, GetParam());
  double ours = 0, usual = 0;
  for (int block = 0; block < 2000; ++block) {
    std::vector<float> x(32);
    for (float& value : x) value = normal(random);
    if (block % 5 == 0) x[block % 32] *= 10;  // one that stands out
    const double error = SquaredError(x, RoundTrip(x));
    const double bound = SquaredError(x, Usual(x));
    EXPECT_LE(error, bound * (1 + 1e-4)) << block;
    // An eighth of the peak for each weight.
    float peak = 0;
    for (const float value : x) peak = std::max(peak, std::fabs(value));
    EXPECT_LE(error, 32 * (peak / 8) * (peak / 8) * 1.01);
    ours += error;
    usual += bound;
  }
  EXPECT_LT(ours, 0.96 * usual);
  RecordProperty("share_of_the_usual_error", std::to_string(ours / usual));
}

INSTANTIATE_TEST_SUITE_P(Magnitudes, QuantizeQ4_0Test, testing::Values(1e-3f, 0.02f, 1.0f, 500.0f));

TEST(QuantizeQ4_0Test, GivesBackWhatFourBitsCanHold) {
  std::vector<float> x(64);
  for (int i = 0; i < 32; ++i) {
    x[i] = 0.25f * static_cast<float>(i % 16 - 8);
    x[32 + i] = -0.5f * static_cast<float>(i % 16 - 8);  // the peak is positive
  }
  EXPECT_EQ(RoundTrip(x), x);
}

TEST(QuantizeQ4_0Test, BlocksWithoutAScaleAreZero) {
  const float kNone[] = {0.0f, 1e-12f, 1e30f, std::numeric_limits<float>::infinity(),
                         std::numeric_limits<float>::quiet_NaN()};
  for (const float value : kNone) {
    std::vector<float> x(64, 0.0f);
    x[3] = value;
    x[40] = 8.0f;  // the other block is not touched by it
    std::vector<float> wanted(64, 0.0f);
    wanted[40] = 8.0f;
    EXPECT_EQ(RoundTrip(x), wanted) << value;
  }
}

TEST(QuantizeQ4_0DeathTest, WrongSizesAreBugs) {
  std::vector<float> x(32);
  std::vector<std::byte> packed(17);
  EXPECT_DEATH(QuantizeQ4_0(x, packed), "17 vs 18");
}

TEST(QuantizeQ8_0, IsOffByHalfAStepAtMost) {
  std::mt19937 random(8);
  // The smallest have scales that are subnormal halves, of few bits.
  for (const float spread : {1e-7f, 1e-5f, 1e-3f, 0.02f, 3.0f, 1e4f}) {
    std::normal_distribution<float> normal(0, spread);
    for (int block = 0; block < 200; ++block) {
      std::vector<float> x(64);
      for (float& value : x) value = normal(random);
      std::vector<std::byte> packed(BytesOf(TensorType::kQ8_0, 64));
      QuantizeQ8_0(x, packed);
      std::vector<float> back(64);
      Dequantize(TensorType::kQ8_0, packed, back);
      for (size_t i = 0; i < x.size(); ++i) {
        const uint16_t half =
            static_cast<uint16_t>(std::to_integer<int>(packed[i / 32 * 34]) |
                                  std::to_integer<int>(packed[i / 32 * 34 + 1]) << 8);
        EXPECT_LE(std::fabs(back[i] - x[i]), F16ToF32(half) * 0.5001f) << spread;
      }
    }
  }
}

TEST(QuantizeQ8_0, WhatHasNoScaleBecomesZeros) {
  for (const float odd : {0.0f, 70000.0f, std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> x(32, odd == 0 ? 0.0f : 1.0f);
    x[7] = odd;
    std::vector<std::byte> packed(BytesOf(TensorType::kQ8_0, 32), std::byte{1});
    QuantizeQ8_0(x, packed);
    EXPECT_EQ(packed, std::vector<std::byte>(packed.size())) << odd;
  }
}

}  // namespace
}  // namespace hunch

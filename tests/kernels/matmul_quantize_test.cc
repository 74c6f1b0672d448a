// QuantizeRow: the activation side of docs/numerics.md.
#include <gtest/gtest.h>

#include <limits>

#include "kernels/matmul_support.h"

namespace hunch {
namespace {

struct Quantised {
  std::vector<int8_t> q;
  std::vector<float> scale;
  std::vector<int16_t> sum;
};

Quantised QuantiseOn(Isa isa, const std::vector<float>& x) {
  Quantised out{std::vector<int8_t>(x.size()), std::vector<float>(x.size() / 32),
                std::vector<int16_t>(x.size() / 16)};
  QuantizeRowOn(isa, x.data(), static_cast<int64_t>(x.size()), out.q.data(), out.scale.data(),
                out.sum.data());
  return out;
}

void ExpectAllIsasAgree(const std::vector<float>& x) {
  const Quantised expected = QuantiseOn(Isa::kRef, x);
  for (Isa isa : SupportedIsas()) {
    const Quantised actual = QuantiseOn(isa, x);
    EXPECT_EQ(actual.q, expected.q) << IsaName(isa);
    EXPECT_EQ(actual.sum, expected.sum) << IsaName(isa);
    for (size_t i = 0; i < expected.scale.size(); ++i) {
      EXPECT_TRUE(SameBits(actual.scale[i], expected.scale[i])) << IsaName(isa) << " block " << i;
    }
  }
}

TEST(QuantizeRow, KnownBlock) {
  std::vector<float> x(32, 0.0f);
  x[0] = -127;
  x[1] = 0.5f;   // ties go to even: 0
  x[2] = 1.5f;   // 2
  x[3] = -2.5f;  // -2
  x[20] = 100.25f;
  for (Isa isa : SupportedIsas()) {
    const Quantised out = QuantiseOn(isa, x);
    EXPECT_EQ(out.scale[0], 1.0f) << IsaName(isa);
    EXPECT_EQ(out.q[0], -127);
    EXPECT_EQ(out.q[1], 0);
    EXPECT_EQ(out.q[2], 2);
    EXPECT_EQ(out.q[3], -2);
    EXPECT_EQ(out.q[20], 100);
    EXPECT_EQ(out.sum[0], -127);
    EXPECT_EQ(out.sum[1], 100);
  }
}

TEST(QuantizeRow, IsasAgreeOnRandomRowsOfEveryScale) {
  std::mt19937 random(21);
  std::normal_distribution<float> normal(0, 1);
  for (int exponent = -148; exponent < 128; ++exponent) {
    std::vector<float> x(96);
    for (auto& value : x) value = std::ldexp(normal(random), exponent);
    ExpectAllIsasAgree(x);
  }
}

TEST(QuantizeRow, IsasAgreeOnTies) {
  std::vector<float> x(32 * 8);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = i % 32 == 0 ? 127.0f : static_cast<float>(i % 251) / 2 - 62.5f;
  }
  ExpectAllIsasAgree(x);
}

TEST(QuantizeRow, NotFiniteReachesTheScale) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (float bad : {inf, -inf, nan, -nan}) {
    for (size_t at : {0u, 15u, 31u}) {
      std::vector<float> x(64, 2.0f);
      x[at] = bad;
      ExpectAllIsasAgree(x);
      const Quantised out = QuantiseOn(Isa::kRef, x);
      EXPECT_FALSE(std::isfinite(out.scale[0]));
      EXPECT_EQ(out.q[at], 0);
      EXPECT_EQ(out.scale[1], 2.0f / 127);  // the next block is untouched
    }
  }
}

TEST(QuantizeRow, ZeroAndSubnormalBlocks) {
  std::vector<float> x(64, 0.0f);
  x[3] = -0.0f;
  x[40] = std::numeric_limits<float>::denorm_min();
  x[41] = -std::numeric_limits<float>::denorm_min();
  ExpectAllIsasAgree(x);
  const Quantised out = QuantiseOn(Isa::kRef, x);
  EXPECT_EQ(out.scale[0], 0.0f);
  EXPECT_EQ(out.q[40], 127);
  EXPECT_EQ(out.q[41], -127);
  EXPECT_EQ(out.q[42], 0);
}

}  // namespace
}  // namespace hunch

// f16 and bf16 conversions: all 65536 halves, the golden roundings, and the CPU's own where it has
// them.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>

#include "quant/quant.h"
#include "support/files.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hunch {
namespace {

uint32_t Bits(float value) { return std::bit_cast<uint32_t>(value); }

// The value of a finite half by its definition, in fp64.
double HalfByDefinition(uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int fraction = half & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

bool IsHalfNan(uint32_t half) { return (half & 0x7FFF) > 0x7C00; }

TEST(Half, EveryF16WidensToItsValue) {
  for (uint32_t half = 0; half < 65536; ++half) {
    const float wide = F16ToF32(static_cast<uint16_t>(half));
    if ((half & 0x7C00) == 0x7C00) {
      EXPECT_EQ(std::isnan(wide), IsHalfNan(half)) << half;
      EXPECT_EQ(std::isinf(wide), !IsHalfNan(half)) << half;
    } else {
      EXPECT_EQ(static_cast<double>(wide), HalfByDefinition(static_cast<uint16_t>(half))) << half;
    }
    EXPECT_EQ(std::signbit(wide), (half & 0x8000) != 0) << half;
  }
}

TEST(Half, EveryF16AndBf16ComesBack) {
  for (uint32_t half = 0; half < 65536; ++half) {
    const auto bits = static_cast<uint16_t>(half);
    // A signalling NaN comes back quiet, with its payload.
    EXPECT_EQ(F32ToF16(F16ToF32(bits)), IsHalfNan(half) ? bits | 0x200 : bits) << half;
    const bool bf16_nan = (half & 0x7FFF) > 0x7F80;
    EXPECT_EQ(F32ToBf16(Bf16ToF32(bits)), bf16_nan ? bits | 0x40 : bits) << half;
  }
}

TEST(Half, RoundsAsTheGoldenFileSays) {
  struct Row {
    uint32_t f32;
    uint16_t f16, bf16;
  };
  const std::vector<Row> rows = ReadGoldenArray<Row>("quant/halves.bin");
  ASSERT_GT(rows.size(), 3000u);
  for (const Row& row : rows) {
    const float value = std::bit_cast<float>(row.f32);
    EXPECT_EQ(F32ToF16(value), row.f16) << std::hex << row.f32;
    EXPECT_EQ(F32ToBf16(value), row.bf16) << std::hex << row.f32;
  }
}

TEST(Half, RoundsToNearestEvenAtTheEdges) {
  EXPECT_EQ(F32ToF16(65504.0f), 0x7BFF);
  EXPECT_EQ(F32ToF16(65519.996f), 0x7BFF);
  EXPECT_EQ(F32ToF16(65520.0f), 0x7C00);  // the tie goes to the even side: infinity
  EXPECT_EQ(F32ToF16(-65520.0f), 0xFC00);
  EXPECT_EQ(F32ToF16(0x1p-24f), 0x0001);
  EXPECT_EQ(F32ToF16(0x1p-25f), 0x0000);  // tie to even: zero
  EXPECT_EQ(F32ToF16(-0x1p-25f), 0x8000);
  EXPECT_EQ(F32ToF16(std::nextafter(0x1p-25f, 1.0f)), 0x0001);
  EXPECT_EQ(F32ToF16(0x1.8p-24f), 0x0002);    // tie between 1 and 2
  EXPECT_EQ(F32ToF16(0x1.ffep-15f), 0x0400);  // largest tie below the smallest normal
  EXPECT_EQ(F32ToF16(-0.0f), 0x8000);
  EXPECT_EQ(F32ToF16(std::numeric_limits<float>::infinity()), 0x7C00);
  EXPECT_EQ(F32ToBf16(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_EQ(F32ToBf16(std::bit_cast<float>(0x7F800001u)), 0x7FC0);  // not infinity
}

#if defined(__x86_64__) || defined(__aarch64__)
#if defined(__x86_64__)
__attribute__((target("f16c"))) uint16_t NarrowByCpu(float value) {
  return static_cast<uint16_t>(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT));
}
__attribute__((target("f16c"))) float WidenByCpu(uint16_t half) { return _cvtsh_ss(half); }
// Every CPU with AVX2 has F16C; clang 14 cannot ask for f16c.
bool CpuHasHalves() { return __builtin_cpu_supports("avx2") != 0; }
#else
uint16_t NarrowByCpu(float value) { return std::bit_cast<uint16_t>(static_cast<__fp16>(value)); }
float WidenByCpu(uint16_t half) { return std::bit_cast<__fp16>(half); }
bool CpuHasHalves() { return true; }
#endif

TEST(Half, EqualsTheCpuBitForBit) {
  if (!CpuHasHalves()) GTEST_SKIP() << "no F16C";
  for (uint32_t half = 0; half < 65536; ++half) {
    const auto bits = static_cast<uint16_t>(half);
    ASSERT_EQ(Bits(F16ToF32(bits)), Bits(WidenByCpu(bits))) << half;
  }
  std::mt19937 random(7);
  for (int i = 0; i < 2'000'000; ++i) {
    uint32_t bits = random();
    // Half of the values lie where f16 has values; all exponents would mostly be infinity or zero.
    if (i % 2 == 0) bits = (bits & 0x807FFFFF) | (100 + (bits >> 23) % 45) << 23;
    const float value = std::bit_cast<float>(bits);
    ASSERT_EQ(F32ToF16(value), NarrowByCpu(value)) << std::hex << bits;
  }
}
#endif

}  // namespace
}  // namespace hunch

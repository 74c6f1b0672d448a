#include "quant/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "quant/blocks.h"
#include "quant/quant.h"

namespace hunch {
namespace {

constexpr int kBlock = BlockQ4_0::kElements;
static_assert(BlockQ8_0::kElements == kBlock);

// The code of a weight at a scale of 1 / inverse, rounded to nearest; |x * inverse| is below 10.
int Code(float x, float inverse) {
  float code = x * inverse + 8.5f;
  code = code < 0.0f ? 0.0f : code;
  code = code > 15.0f ? 15.0f : code;
  return static_cast<int>(code);
}

// Of the codes that a scale gives, q = code - 8.
struct Sums {
  float xq;
  float qq;
};

// In eight lanes, which the compiler turns into SIMD: a load of 0.5 B weights comes here for each.
Sums SumsAt(const float* x, float inverse) {
  constexpr int kLanes = 8;
  float xq[kLanes] = {}, qq[kLanes] = {};
  for (int at = 0; at < kBlock; at += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const float q = static_cast<float>(Code(x[at + lane], inverse) - 8);
      xq[lane] += x[at + lane] * q;
      qq[lane] += q * q;
    }
  }
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) {
      xq[lane] += xq[lane + half];
      qq[lane] += qq[lane + half];
    }
  }
  return {xq[0], qq[0]};
}

// The value of largest magnitude, the first of equals; NaN when one is not finite.
float Peak(const float* x) {
  float peak = 0;
  bool finite = true;
  for (int i = 0; i < kBlock; ++i) {
    finite &= std::fabs(x[i]) <= std::numeric_limits<float>::max();
    peak = std::fabs(x[i]) > std::fabs(peak) ? x[i] : peak;
  }
  return finite ? peak : std::numeric_limits<float>::quiet_NaN();
}

// How a block is packed: its scale as f16, and what its codes are made with. Zeros by default.
struct Choice {
  uint16_t d = 0;
  float inverse = 0;
};

Choice Choose(const float* x) {
  Choice best;
  const float peak = Peak(x);
  if (!(std::fabs(peak) >= 0x1p-20f && std::fabs(peak) <= 65000.0f)) return best;
  // The sum of squared errors is that of the weights less this.
  float most_explained = -std::numeric_limits<float>::infinity();
  const auto offer = [&](float scale, const Sums& sums, float inverse) {
    const uint16_t half = F32ToF16(scale);
    const float d = F16ToF32(half);
    const float explained = d * (2 * sums.xq - d * sums.qq);
    if (!(explained > most_explained)) return;
    most_explained = explained;
    best = {half, inverse};
  };
  // The code that the peak gets, if it were not clamped; -8 is the usual choice. Then the scale
  // that is the best for these codes.
  for (const float level : {-8.0f, -8.5f, -7.25f}) {
    const float inverse = 1.0f / (peak / level);
    const Sums sums = SumsAt(x, inverse);
    if (level == -8.0f) offer(peak / level, sums, inverse);
    if (sums.qq > 0) offer(sums.xq / sums.qq, sums, inverse);
  }
  return best;
}

}  // namespace

void QuantizeQ4_0(std::span<const float> x, std::span<std::byte> dst) {
  HUNCH_CHECK_EQ(dst.size(), BytesOf(TensorType::kQ4_0, static_cast<int64_t>(x.size())));
  for (size_t at = 0; at < x.size(); at += kBlock) {
    const Choice choice = Choose(&x[at]);
    BlockQ4_0 block;
    block.d = {{static_cast<uint8_t>(choice.d & 255), static_cast<uint8_t>(choice.d >> 8)}};
    for (int j = 0; j < 16; ++j) {
      // A block without a scale has an inverse of 0, which no NaN may meet.
      const bool none = choice.inverse == 0;
      const int low = none ? 8 : Code(x[at + j], choice.inverse);
      const int high = none ? 8 : Code(x[at + j + 16], choice.inverse);
      block.qs[j] = static_cast<uint8_t>(low | high << 4);
    }
    std::memcpy(&dst[at / kBlock * sizeof(block)], &block, sizeof(block));
  }
}

void QuantizeQ8_0(std::span<const float> x, std::span<std::byte> dst) {
  HUNCH_CHECK_EQ(dst.size(), BytesOf(TensorType::kQ8_0, static_cast<int64_t>(x.size())));
  for (size_t at = 0; at < x.size(); at += kBlock) {
    const float peak = std::fabs(Peak(&x[at]));
    BlockQ8_0 block = {};
    if (peak > 0 && peak <= 65000.0f) {
      uint16_t d = F32ToF16(peak / 127);
      if (peak > 127.5f * F16ToF32(d)) ++d;  // it has few bits where it is subnormal
      block.d = {{static_cast<uint8_t>(d & 255), static_cast<uint8_t>(d >> 8)}};
      for (int i = 0; i < kBlock; ++i) {
        const float code = std::nearbyint(x[at + i] / F16ToF32(d));
        block.qs[i] = static_cast<int8_t>(std::clamp(code, -127.0f, 127.0f));
      }
    }
    std::memcpy(&dst[at / kBlock * sizeof(block)], &block, sizeof(block));
  }
}

std::vector<std::byte> Encode(std::span<const float> x, TensorType type) {
  std::vector<std::byte> bytes(BytesOf(type, static_cast<int64_t>(x.size())));
  switch (type) {
    case TensorType::kQ8_0:
      QuantizeQ8_0(x, bytes);
      break;
    case TensorType::kQ4_0:
      QuantizeQ4_0(x, bytes);
      break;
    case TensorType::kF16:
      for (size_t i = 0; i < x.size(); ++i) {
        const uint16_t half = F32ToF16(x[i]);
        std::memcpy(&bytes[i * sizeof(half)], &half, sizeof(half));
      }
      break;
    default:
      HUNCH_CHECK(type == TensorType::kF32);
      if (!x.empty()) std::memcpy(bytes.data(), x.data(), bytes.size());
  }
  return bytes;
}

}  // namespace hunch

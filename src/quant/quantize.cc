#include "quant/quantize.h"

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

// A block that was tried: its scale as f16, its codes 0..15 and what it costs.
struct Trial {
  uint16_t d = 0;
  uint8_t codes[kBlock];
  float squared_error = std::numeric_limits<float>::infinity();
};

// Codes of x at scale d, rounded to nearest. |x / d| is below 10.
void Round(const float* x, float d, uint8_t* codes) {
  const float inverse = 1.0f / d;
  for (int i = 0; i < kBlock; ++i) {
    const float code = x[i] * inverse + 8.5f;
    codes[i] = static_cast<uint8_t>(code < 0.0f ? 0.0f : code > 15.0f ? 15.0f : code);
  }
}

// The scale with the least squared error for these codes; 0 when they are all zero.
float BestScale(const float* x, const uint8_t* codes) {
  float xq = 0, qq = 0;
  for (int i = 0; i < kBlock; ++i) {
    const float q = static_cast<float>(codes[i] - 8);
    xq += x[i] * q;
    qq += q * q;
  }
  return qq > 0 ? xq / qq : 0.0f;
}

float SquaredError(const float* x, const Trial& trial) {
  const float d = F16ToF32(trial.d);
  float sum = 0;
  for (int i = 0; i < kBlock; ++i) {
    const float error = x[i] - d * static_cast<float>(trial.codes[i] - 8);
    sum += error * error;
  }
  return sum;
}

void KeepBetter(const float* x, Trial& trial, Trial& best) {
  trial.squared_error = SquaredError(x, trial);
  if (trial.squared_error < best.squared_error) best = trial;
}

// The value of largest magnitude, the first of equals; NaN when one is not finite.
float Peak(const float* x) {
  float peak = 0;
  for (int i = 0; i < kBlock; ++i) {
    if (!std::isfinite(x[i])) return std::numeric_limits<float>::quiet_NaN();
    if (std::fabs(x[i]) > std::fabs(peak)) peak = x[i];
  }
  return peak;
}

Trial BestTrial(const float* x) {
  Trial best;
  std::memset(best.codes, 8, sizeof(best.codes));
  const float peak = Peak(x);
  // So small that the step has no f16, or so large: nothing of the block is kept.
  if (!(std::fabs(peak) >= 0x1p-20f && std::fabs(peak) <= 65000.0f)) return best;
  // The code that the peak gets, if it were not clamped; -8 is the usual choice.
  for (const float level : {-8.0f, -7.5f, -8.5f, -7.0f, -9.0f, 7.0f}) {
    Trial trial;
    Round(x, peak / level, trial.codes);
    if (level == -8.0f) {
      trial.d = F32ToF16(peak / level);
      KeepBetter(x, trial, best);
    }
    trial.d = F32ToF16(BestScale(x, trial.codes));
    KeepBetter(x, trial, best);
  }
  return best;
}

}  // namespace

void QuantizeQ4_0(std::span<const float> x, std::span<std::byte> dst) {
  HUNCH_CHECK_EQ(dst.size(), BytesOf(TensorType::kQ4_0, static_cast<int64_t>(x.size())));
  for (size_t at = 0; at < x.size(); at += kBlock) {
    const Trial best = BestTrial(&x[at]);
    BlockQ4_0 block;
    block.d = {{static_cast<uint8_t>(best.d & 255), static_cast<uint8_t>(best.d >> 8)}};
    for (int j = 0; j < 16; ++j) {
      block.qs[j] = static_cast<uint8_t>(best.codes[j] | best.codes[j + 16] << 4);
    }
    std::memcpy(&dst[at / kBlock * sizeof(block)], &block, sizeof(block));
  }
}

}  // namespace hunch

// sdot: 16 weights an instruction.
#include <arm_neon.h>

#include "kernels/dot_peak.h"

namespace hunch {

int64_t DotPeakNeon(int64_t steps) {
  constexpr int kChains = 16;  // independent, so that latency does not show
  int32x4_t sums[kChains];
  for (auto& sum : sums) sum = vdupq_n_s32(0);
  int8x16_t a = vdupq_n_s8(3), b = vdupq_n_s8(5);
  for (int64_t i = 0; i < steps; ++i) {
    asm volatile("" : "+w"(a), "+w"(b));
#pragma GCC unroll 16
    for (auto& sum : sums) sum = vdotq_s32(sum, a, b);
  }
  for (auto& sum : sums) asm volatile("" : : "w"(sum));
  return 16 * kChains * steps;
}

}  // namespace hunch

// vpdpbusd: 64 weights an instruction.
#include <immintrin.h>

#include "kernels/dot_peak.h"

namespace hunch {

int64_t DotPeakAvx512(int64_t steps) {
  constexpr int kChains = 16;  // independent, so that latency does not show
  __m512i sums[kChains];
  for (auto& sum : sums) sum = _mm512_setzero_si512();
  __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(5);
  for (int64_t i = 0; i < steps; ++i) {
    asm volatile("" : "+v"(a), "+v"(b));
#pragma GCC unroll 16
    for (auto& sum : sums) sum = _mm512_dpbusd_epi32(sum, a, b);
  }
  for (auto& sum : sums) asm volatile("" : : "v"(sum));
  return 64 * kChains * steps;
}

}  // namespace hunch

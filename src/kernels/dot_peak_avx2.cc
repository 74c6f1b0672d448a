// vpmaddubsw and a 16-bit add, the widening left out: the most that AVX2 can do at 4 bits.
#include <immintrin.h>

#include "kernels/dot_peak.h"

namespace hunch {

int64_t DotPeakAvx2(int64_t steps) {
  constexpr int kChains = 8;  // independent, so that latency does not show
  __m256i sums[kChains];
  for (auto& sum : sums) sum = _mm256_setzero_si256();
  __m256i a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(5);
  for (int64_t i = 0; i < steps; ++i) {
    asm volatile("" : "+x"(a), "+x"(b));
#pragma GCC unroll 8
    for (auto& sum : sums) {
      __m256i product = _mm256_maddubs_epi16(a, b);
      asm volatile("" : "+x"(product));
      sum = _mm256_add_epi16(sum, product);
    }
  }
  for (auto& sum : sums) asm volatile("" : : "x"(sum));
  return 32 * kChains * steps;
}

}  // namespace hunch

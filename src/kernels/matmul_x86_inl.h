// What the AVX2 and the AVX-512 file share, in AVX2 instructions: it runs once per layer input
// (QuantizeRow) or once per span of 256 weights (the sums), so wider vectors would not show.
#ifndef HUNCH_KERNELS_MATMUL_X86_INL_H_
#define HUNCH_KERNELS_MATMUL_X86_INL_H_

#include <immintrin.h>

#include <cstdint>

namespace hunch {
namespace {

// The largest of 8 non-negative int32 lanes.
[[gnu::always_inline]] inline int32_t MaxLane(__m256i v) {
  __m128i m = _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4E));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xB1));
  return _mm_cvtsi128_si32(m);
}

[[gnu::always_inline]] inline __m256i QuantizeLanes(__m256 x, __m256 inverse) {
  const __m256 scaled = _mm256_mul_ps(x, inverse);
  const __m256 number = _mm256_cmp_ps(scaled, scaled, _CMP_ORD_Q);
  const __m256 low = _mm256_max_ps(scaled, _mm256_set1_ps(-127));
  const __m256 clamped = _mm256_min_ps(low, _mm256_set1_ps(127));
  return _mm256_cvtps_epi32(_mm256_and_ps(clamped, number));  // a NaN becomes 0
}

// The sum of 16 int8.
[[gnu::always_inline]] inline int16_t SumOf16(__m128i q) {
  // Biased to unsigned for psadbw; 16 * 128 comes off again.
  const __m128i sad =
      _mm_sad_epu8(_mm_xor_si128(q, _mm_set1_epi8(static_cast<char>(0x80))), _mm_setzero_si128());
  return static_cast<int16_t>(_mm_cvtsi128_si32(sad) + _mm_extract_epi16(sad, 4) - 16 * 128);
}

void QuantizeRowSimd(const float* x, int64_t k, int8_t* q, float* scale, int16_t* sum) {
  const __m256i magnitude_bits = _mm256_set1_epi32(0x7FFFFFFF);
  for (int64_t block = 0; block < k / 32; ++block, x += 32, q += 32) {
    const __m256 v[4] = {_mm256_loadu_ps(x), _mm256_loadu_ps(x + 8), _mm256_loadu_ps(x + 16),
                         _mm256_loadu_ps(x + 24)};
    __m256i largest = _mm256_and_si256(_mm256_castps_si256(v[0]), magnitude_bits);
    for (int i = 1; i < 4; ++i) {
      largest =
          _mm256_max_epi32(largest, _mm256_and_si256(_mm256_castps_si256(v[i]), magnitude_bits));
    }
    const float amax = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(MaxLane(largest))));
    scale[block] = amax / 127;
    const __m256 inverse = _mm256_set1_ps(amax == 0 ? 0 : 127 / amax);
    const __m256i low =
        _mm256_packs_epi32(QuantizeLanes(v[0], inverse), QuantizeLanes(v[1], inverse));
    const __m256i high =
        _mm256_packs_epi32(QuantizeLanes(v[2], inverse), QuantizeLanes(v[3], inverse));
    // The packs interleave 128-bit lanes; dword order 0 4 1 5 2 6 3 7 puts them right.
    const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high),
                                                      _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(q), bytes);
    sum[2 * block] = SumOf16(_mm256_castsi256_si128(bytes));
    sum[2 * block + 1] = SumOf16(_mm256_extracti128_si256(bytes, 1));
  }
}

// Primitives of `S` for PrepareSums: sixteen sums of 16 activations, or their eight pairs, times
// one integer or times the scale of their block of 32.
struct X86Sums {
  [[gnu::always_inline]] static __m256i HalfSums(const int16_t* sum) {
    return _mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(sum)));
  }
  // 16 sums of sum[16].
  [[gnu::always_inline]] static void ScaleHalfSums(const int16_t* sum, int factor, int32_t* to) {
    for (int h = 0; h < 2; ++h) {
      const __m256i product = _mm256_mullo_epi32(HalfSums(sum + 8 * h), _mm256_set1_epi32(factor));
      _mm256_store_si256(reinterpret_cast<__m256i*>(to + 8 * h), product);
    }
  }
  [[gnu::always_inline]] static void ScaleHalfSums(const int16_t* sum, const float* scale,
                                                   float* to) {
    for (int h = 0; h < 2; ++h) {
      const __m128 four = _mm_loadu_ps(scale + 4 * h);  // of blocks 4h.., each for two halves
      const __m256 both = _mm256_permutevar8x32_ps(_mm256_castps128_ps256(four),
                                                   _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
      _mm256_store_ps(to + 8 * h, _mm256_mul_ps(_mm256_cvtepi32_ps(HalfSums(sum + 8 * h)), both));
    }
  }
  // 8 sums of pairs of sum[16].
  [[gnu::always_inline]] static __m256i PairSums(const int16_t* sum, int factor) {
    return _mm256_madd_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(sum)),
                             _mm256_set1_epi16(static_cast<int16_t>(factor)));
  }
  [[gnu::always_inline]] static void ScaleSums(const int16_t* sum, int factor, int32_t* to) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(to), PairSums(sum, factor));
  }
  [[gnu::always_inline]] static void ScaleSums(const int16_t* sum, const float* scale, float* to) {
    _mm256_store_ps(to,
                    _mm256_mul_ps(_mm256_cvtepi32_ps(PairSums(sum, 1)), _mm256_loadu_ps(scale)));
  }
};

}  // namespace
}  // namespace hunch

#endif  // HUNCH_KERNELS_MATMUL_X86_INL_H_

// The Vec16 primitives on AVX-512 (F, BW, VL, DQ): one register is sixteen lanes. Meanings are
// written in vec16_ref.h. Intrinsics only, everything local to the file that includes it.
#ifndef HUNCH_KERNELS_VEC16_AVX512_H_
#define HUNCH_KERNELS_VEC16_AVX512_H_

// g++ 12 reports the intrinsics' own undefined pass-through operands (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include <immintrin.h>
#include <stdint.h>

#define VEC16_FN inline __attribute__((always_inline))

namespace hunch {
namespace {

constexpr int kMaxQueryTile = 8;
// Of 32 registers: 24 accumulate, the rest hold K or V and broadcasts.
constexpr int kTileRegisters = 24;

using Floats = __m512;
using Ints = __m512i;
using Mask = __mmask16;

VEC16_FN Mask FirstLanes(int n) { return static_cast<Mask>((1u << n) - 1); }

VEC16_FN Floats LoadFloats(const float* p) { return _mm512_loadu_ps(p); }
VEC16_FN Floats LoadFloats(const float* p, int n) {
  return _mm512_maskz_loadu_ps(FirstLanes(n), p);
}
VEC16_FN void StoreFloats(float* p, Floats v) { _mm512_storeu_ps(p, v); }
VEC16_FN void StoreFloats(float* p, Floats v, int n) { _mm512_mask_storeu_ps(p, FirstLanes(n), v); }
VEC16_FN Floats Splat(float x) { return _mm512_set1_ps(x); }
VEC16_FN Floats Add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
VEC16_FN Floats Sub(Floats a, Floats b) { return _mm512_sub_ps(a, b); }
VEC16_FN Floats Mul(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
VEC16_FN Floats Div(Floats a, Floats b) { return _mm512_div_ps(a, b); }
VEC16_FN Floats Fma(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
VEC16_FN Floats FmaSub(Floats a, Floats b, Floats c) { return _mm512_fmsub_ps(a, b, c); }
VEC16_FN Floats Max(Floats a, Floats b) { return _mm512_max_ps(a, b); }
VEC16_FN Floats Min(Floats a, Floats b) { return _mm512_min_ps(a, b); }

VEC16_FN Mask Less(Floats a, Floats b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
VEC16_FN Mask Equal(Floats a, Floats b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
VEC16_FN Mask EqualInts(Ints a, Ints b) { return _mm512_cmpeq_epi32_mask(a, b); }
VEC16_FN Floats Select(Mask m, Floats a, Floats b) { return _mm512_mask_blend_ps(m, b, a); }
VEC16_FN uint32_t SetLanes(Mask m) { return m; }

VEC16_FN Ints AsInts(Floats v) { return _mm512_castps_si512(v); }
VEC16_FN Floats AsFloats(Ints v) { return _mm512_castsi512_ps(v); }
VEC16_FN Ints SplatInt(int32_t x) { return _mm512_set1_epi32(x); }
VEC16_FN Ints AddInts(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
VEC16_FN Ints AndInts(Ints a, Ints b) { return _mm512_and_si512(a, b); }
template <int kBits>
VEC16_FN Ints ShiftRight(Ints a) {
  return _mm512_srai_epi32(a, kBits);
}
VEC16_FN Floats ToFloats(Ints a) { return _mm512_cvtepi32_ps(a); }
// Nearest, ties to even; of numbers that fit.
VEC16_FN Ints RoundToInts(Floats v) { return _mm512_cvtps_epi32(v); }
VEC16_FN Floats UnsignedToFloats(Ints a) { return _mm512_cvtepu32_ps(a); }
VEC16_FN Floats ScaleByPowerOfTwo(Floats p, Floats n) { return _mm512_scalef_ps(p, n); }

VEC16_FN float SumTree(Floats v) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
VEC16_FN float MaxTree(Floats v) {
  const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

VEC16_FN Floats LoadKv(const uint16_t* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
VEC16_FN Floats LoadKv(const float* p) { return _mm512_loadu_ps(p); }
VEC16_FN Floats LoadKv(const int8_t* p) {
  return _mm512_cvtepi32_ps(
      _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}
VEC16_FN void StoreKv(uint16_t* p, Floats v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
VEC16_FN void StoreKv(float* p, Floats v) { _mm512_storeu_ps(p, v); }
VEC16_FN void Prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }

VEC16_FN void Deinterleave(Floats a, Floats b, Floats& even, Floats& odd) {
  const Ints index = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  even = _mm512_permutex2var_ps(a, index, b);
  odd = _mm512_permutex2var_ps(a, _mm512_add_epi32(index, _mm512_set1_epi32(1)), b);
}
VEC16_FN void Interleave(Floats even, Floats odd, Floats& a, Floats& b) {
  const Ints index = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  a = _mm512_permutex2var_ps(even, index, odd);
  b = _mm512_permutex2var_ps(even, _mm512_add_epi32(index, _mm512_set1_epi32(8)), odd);
}

// Eight counters in 64-bit lanes; only the low half of a lane means anything until the end.
VEC16_FN void PhiloxWords(uint32_t block, uint32_t counter1, uint32_t counter2, uint32_t counter3,
                          uint32_t key0, uint32_t key1, Ints words[2]) {
  const Ints multiplier0 = _mm512_set1_epi64(0xD2511F53);
  const Ints multiplier1 = _mm512_set1_epi64(0xCD9E8D57);
  Ints c0 = _mm512_add_epi32(_mm512_set1_epi64(block), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
  Ints c1 = _mm512_set1_epi64(counter1);
  Ints c2 = _mm512_set1_epi64(counter2);
  Ints c3 = _mm512_set1_epi64(counter3);
  for (int round = 0; round < 10; ++round) {
    const Ints product0 = _mm512_mul_epu32(multiplier0, c0);
    const Ints product1 = _mm512_mul_epu32(multiplier1, c2);
    const Ints k0 = _mm512_set1_epi64(key0);
    const Ints k1 = _mm512_set1_epi64(key1);
    // 0x96 is the three-way xor.
    c0 = _mm512_ternarylogic_epi64(_mm512_srli_epi64(product1, 32), c1, k0, 0x96);
    c2 = _mm512_ternarylogic_epi64(_mm512_srli_epi64(product0, 32), c3, k1, 0x96);
    c1 = product1;
    c3 = product0;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  // Low halves of (c0, c1) and (c2, c3) side by side, then pairs in counter order.
  const Ints w01 = _mm512_mask_blend_epi32(0xAAAA, c0, _mm512_slli_epi64(c1, 32));
  const Ints w23 = _mm512_mask_blend_epi32(0xAAAA, c2, _mm512_slli_epi64(c3, 32));
  words[0] = _mm512_permutex2var_epi64(w01, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), w23);
  words[1] = _mm512_permutex2var_epi64(w01, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15), w23);
}

}  // namespace
}  // namespace hunch

#endif  // HUNCH_KERNELS_VEC16_AVX512_H_

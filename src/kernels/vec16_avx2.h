// The Vec16 primitives on AVX2 + FMA + F16C: a pair of registers is sixteen lanes. Meanings are
// written in vec16_ref.h. Intrinsics only, everything local to the file that includes it.
#ifndef HUNCH_KERNELS_VEC16_AVX2_H_
#define HUNCH_KERNELS_VEC16_AVX2_H_

#include <immintrin.h>
#include <stdint.h>

#define VEC16_FN inline __attribute__((always_inline))

namespace hunch {
namespace {

constexpr int kMaxQueryTile = 6;
// Of 16 registers: 12 accumulate (6 pairs), the rest hold K or V and broadcasts.
constexpr int kTileRegisters = 6;

struct Floats {
  __m256 lo, hi;
};
struct Ints {
  __m256i lo, hi;
};
struct Mask {
  __m256 lo, hi;  // all bits of a lane set or clear
};

// Lanes of one half below n (n may be negative or above 8).
VEC16_FN __m256i HalfLanes(int n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

VEC16_FN Floats LoadFloats(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
VEC16_FN Floats LoadFloats(const float* p, int n) {
  return {_mm256_maskload_ps(p, HalfLanes(n)), _mm256_maskload_ps(p + 8, HalfLanes(n - 8))};
}
VEC16_FN void StoreFloats(float* p, Floats v) {
  _mm256_storeu_ps(p, v.lo);
  _mm256_storeu_ps(p + 8, v.hi);
}
VEC16_FN void StoreFloats(float* p, Floats v, int n) {
  _mm256_maskstore_ps(p, HalfLanes(n), v.lo);
  _mm256_maskstore_ps(p + 8, HalfLanes(n - 8), v.hi);
}
VEC16_FN Floats Splat(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
VEC16_FN Floats Add(Floats a, Floats b) {
  return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)};
}
VEC16_FN Floats Sub(Floats a, Floats b) {
  return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)};
}
VEC16_FN Floats Mul(Floats a, Floats b) {
  return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)};
}
VEC16_FN Floats Div(Floats a, Floats b) {
  return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)};
}
VEC16_FN Floats Fma(Floats a, Floats b, Floats c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
VEC16_FN Floats FmaSub(Floats a, Floats b, Floats c) {
  return {_mm256_fmsub_ps(a.lo, b.lo, c.lo), _mm256_fmsub_ps(a.hi, b.hi, c.hi)};
}
VEC16_FN Floats Max(Floats a, Floats b) {
  return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)};
}
VEC16_FN Floats Min(Floats a, Floats b) {
  return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)};
}

VEC16_FN Mask Less(Floats a, Floats b) {
  return {_mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ)};
}
VEC16_FN Mask Equal(Floats a, Floats b) {
  return {_mm256_cmp_ps(a.lo, b.lo, _CMP_EQ_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_EQ_OQ)};
}
VEC16_FN Mask EqualInts(Ints a, Ints b) {
  return {_mm256_castsi256_ps(_mm256_cmpeq_epi32(a.lo, b.lo)),
          _mm256_castsi256_ps(_mm256_cmpeq_epi32(a.hi, b.hi))};
}
VEC16_FN Floats Select(Mask m, Floats a, Floats b) {
  return {_mm256_blendv_ps(b.lo, a.lo, m.lo), _mm256_blendv_ps(b.hi, a.hi, m.hi)};
}
VEC16_FN uint32_t SetLanes(Mask m) {
  return static_cast<uint32_t>(_mm256_movemask_ps(m.lo)) |
         static_cast<uint32_t>(_mm256_movemask_ps(m.hi)) << 8;
}

VEC16_FN Ints AsInts(Floats v) { return {_mm256_castps_si256(v.lo), _mm256_castps_si256(v.hi)}; }
VEC16_FN Floats AsFloats(Ints v) { return {_mm256_castsi256_ps(v.lo), _mm256_castsi256_ps(v.hi)}; }
VEC16_FN Ints SplatInt(int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
VEC16_FN Ints AddInts(Ints a, Ints b) {
  return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)};
}
VEC16_FN Ints AndInts(Ints a, Ints b) {
  return {_mm256_and_si256(a.lo, b.lo), _mm256_and_si256(a.hi, b.hi)};
}
template <int kBits>
VEC16_FN Ints ShiftRight(Ints a) {
  return {_mm256_srai_epi32(a.lo, kBits), _mm256_srai_epi32(a.hi, kBits)};
}
VEC16_FN Floats ToFloats(Ints a) { return {_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)}; }
// Nearest, ties to even; of numbers that fit.
VEC16_FN Ints RoundToInts(Floats v) { return {_mm256_cvtps_epi32(v.lo), _mm256_cvtps_epi32(v.hi)}; }
// Both halves of a word are exact in fp32, so the fma rounds once.
VEC16_FN __m256 HalfUnsignedToFloats(__m256i a) {
  const __m256 high = _mm256_cvtepi32_ps(_mm256_srli_epi32(a, 16));
  const __m256 low = _mm256_cvtepi32_ps(_mm256_and_si256(a, _mm256_set1_epi32(0xFFFF)));
  return _mm256_fmadd_ps(high, _mm256_set1_ps(65536.0f), low);
}
VEC16_FN Floats UnsignedToFloats(Ints a) {
  return {HalfUnsignedToFloats(a.lo), HalfUnsignedToFloats(a.hi)};
}
VEC16_FN __m256 HalfScale(__m256 p, __m256 n) {
  const __m256i exponent = _mm256_cvtps_epi32(n);
  const __m256i half = _mm256_srai_epi32(exponent, 1);
  const __m256i bias = _mm256_set1_epi32(127);
  const __m256i first = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
  const __m256i second =
      _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(exponent, half), bias), 23);
  return _mm256_mul_ps(_mm256_mul_ps(p, _mm256_castsi256_ps(first)), _mm256_castsi256_ps(second));
}
VEC16_FN Floats ScaleByPowerOfTwo(Floats p, Floats n) {
  return {HalfScale(p.lo, n.lo), HalfScale(p.hi, n.hi)};
}

VEC16_FN float SumTree(Floats v) {
  const __m256 eight = _mm256_add_ps(v.lo, v.hi);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
VEC16_FN float MaxTree(Floats v) {
  const __m256 eight = _mm256_max_ps(v.lo, v.hi);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

VEC16_FN Floats LoadKv(const uint16_t* p) {
  return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
          _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 8)))};
}
VEC16_FN Floats LoadKv(const float* p) { return LoadFloats(p); }
VEC16_FN __m256 HalfBytes(const int8_t* p) {
  return _mm256_cvtepi32_ps(
      _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}
VEC16_FN Floats LoadKv(const int8_t* p) { return {HalfBytes(p), HalfBytes(p + 8)}; }
VEC16_FN void StoreKv(uint16_t* p, Floats v) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(v.lo, kNearest));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 8), _mm256_cvtps_ph(v.hi, kNearest));
}
VEC16_FN void StoreKv(float* p, Floats v) { StoreFloats(p, v); }
VEC16_FN void Prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }

// Evens (odds) of a ++ b, eight each.
VEC16_FN void HalfDeinterleave(__m256 a, __m256 b, __m256& even, __m256& odd) {
  // shuffle_ps works within 128-bit lanes; the 64-bit permutation puts the quarters in order.
  const __m256 e = _mm256_shuffle_ps(a, b, 0x88);
  const __m256 o = _mm256_shuffle_ps(a, b, 0xDD);
  even = _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(e), 0xD8));
  odd = _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(o), 0xD8));
}
VEC16_FN void Deinterleave(Floats a, Floats b, Floats& even, Floats& odd) {
  HalfDeinterleave(a.lo, a.hi, even.lo, odd.lo);
  HalfDeinterleave(b.lo, b.hi, even.hi, odd.hi);
}
VEC16_FN void HalfInterleave(__m256 even, __m256 odd, __m256& a, __m256& b) {
  const __m256 low = _mm256_unpacklo_ps(even, odd);
  const __m256 high = _mm256_unpackhi_ps(even, odd);
  a = _mm256_permute2f128_ps(low, high, 0x20);
  b = _mm256_permute2f128_ps(low, high, 0x31);
}
VEC16_FN void Interleave(Floats even, Floats odd, Floats& a, Floats& b) {
  HalfInterleave(even.lo, odd.lo, a.lo, a.hi);
  HalfInterleave(even.hi, odd.hi, b.lo, b.hi);
}

// Four counters in 64-bit lanes; only the low half of a lane means anything until the end.
VEC16_FN Ints PhiloxFour(uint32_t block, uint32_t counter1, uint32_t counter2, uint32_t counter3,
                         uint32_t key0, uint32_t key1) {
  const __m256i multiplier0 = _mm256_set1_epi64x(0xD2511F53);
  const __m256i multiplier1 = _mm256_set1_epi64x(0xCD9E8D57);
  __m256i c0 = _mm256_add_epi32(_mm256_set1_epi64x(block), _mm256_setr_epi64x(0, 1, 2, 3));
  __m256i c1 = _mm256_set1_epi64x(counter1);
  __m256i c2 = _mm256_set1_epi64x(counter2);
  __m256i c3 = _mm256_set1_epi64x(counter3);
  for (int round = 0; round < 10; ++round) {
    const __m256i product0 = _mm256_mul_epu32(multiplier0, c0);
    const __m256i product1 = _mm256_mul_epu32(multiplier1, c2);
    c0 = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(product1, 32), c1),
                          _mm256_set1_epi64x(key0));
    c2 = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(product0, 32), c3),
                          _mm256_set1_epi64x(key1));
    c1 = product1;
    c3 = product0;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  const __m256i w01 = _mm256_blend_epi32(c0, _mm256_slli_epi64(c1, 32), 0xAA);
  const __m256i w23 = _mm256_blend_epi32(c2, _mm256_slli_epi64(c3, 32), 0xAA);
  const __m256i even = _mm256_unpacklo_epi64(w01, w23);  // counters 0 and 2
  const __m256i odd = _mm256_unpackhi_epi64(w01, w23);   // counters 1 and 3
  return {_mm256_permute2x128_si256(even, odd, 0x20), _mm256_permute2x128_si256(even, odd, 0x31)};
}
VEC16_FN void PhiloxWords(uint32_t block, uint32_t counter1, uint32_t counter2, uint32_t counter3,
                          uint32_t key0, uint32_t key1, Ints words[2]) {
  words[0] = PhiloxFour(block, counter1, counter2, counter3, key0, key1);
  words[1] = PhiloxFour(block + 4, counter1, counter2, counter3, key0, key1);
}

}  // namespace
}  // namespace hunch

#endif  // HUNCH_KERNELS_VEC16_AVX2_H_

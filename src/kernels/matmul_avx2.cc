// Linear layers on AVX2. A vector is 8 of a group's 16 output rows. vpmaddubsw sums pairs in 16
// bits: as many of them are added as cannot overflow before they are widened.
#include <immintrin.h>

#include <cstring>

#include "kernels/matmul_inl.h"
#include "kernels/matmul_x86_inl.h"

namespace hunch {
namespace {

struct Avx2 : X86Sums {
  using F = __m256;                 // 8 outputs
  using I = __m256i;                // 8 quads of codes, or 8 int32
  static constexpr int kParts = 2;  // vectors that make up a group

  template <TensorType type>
  static constexpr bool IsSigned() {
    return type == TensorType::kQ8_0 || type == TensorType::kIQ4_NL;
  }
  // As measured (Zen 5): where 16-bit sums live through the block, more than 4 rows spill; where
  // every step widens, more rows pay for the longer unpacking.
  template <TensorType type>
  static constexpr int MaxTile() {
    constexpr ScaleKind kKind = PackLayoutOf(type).scales;
    return kKind == ScaleKind::kNone || kKind == ScaleKind::kSuper16 || IsSigned<type>() ? 6 : 4;
  }
  template <TensorType type>
  static constexpr int CodeOffset() {
    return PackLayoutOf(type).code_offset;
  }
  // How many vpmaddubsw results fit into 16 bits together: each is at most 2 * 127 * largest code.
  template <TensorType type>
  static constexpr int Addable() {
    constexpr int kLargest = (1 << PackLayoutOf(type).code_bits) - 1;
    constexpr int kFit = IsSigned<type>() ? 1 : 32767 / (2 * 127 * kLargest);
    return kFit >= 8 ? 8 : kFit >= 4 ? 4 : kFit >= 2 ? 2 : 1;
  }

  HUNCH_INLINE static I Load(const std::byte* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  HUNCH_INLINE static void StoreCodes(std::byte* to, I v) {
    _mm256_store_si256(reinterpret_cast<I*>(to), v);
  }
  HUNCH_INLINE static I Set1(int byte) { return _mm256_set1_epi8(static_cast<char>(byte)); }
  HUNCH_INLINE static I And(I a, I b) { return _mm256_and_si256(a, b); }
  HUNCH_INLINE static I AndOr(I v, I mask, I low) {
    return _mm256_or_si256(_mm256_and_si256(v, mask), low);
  }
  template <int left>
  HUNCH_INLINE static I Shift(I v) {
    if constexpr (left > 0)
      return _mm256_slli_epi16(v, left);
    else if constexpr (left < 0)
      return _mm256_srli_epi16(v, -left);
    else
      return v;
  }
  HUNCH_INLINE static I FromSigned(I v) { return v; }
  HUNCH_INLINE static I Iq4NlLevels(I v) {
    const __m128i levels =
        _mm_setr_epi8(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(levels), v);
  }

  HUNCH_INLINE static I BroadcastQuad(const int8_t* q) {
    int32_t four;
    std::memcpy(&four, q, sizeof(four));
    I quad = _mm256_set1_epi32(four);
    asm("" : "+x"(quad));
    return quad;
  }

  // Products of one quad, summed in pairs in 16 bits.
  template <TensorType type>
  HUNCH_INLINE static I Products(I w, I q) {
    // A code of -128 has magnitude 128 as an unsigned byte: 2 * 128 * 127 = 32512 still fits.
    if constexpr (IsSigned<type>()) {
      return _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(q, w));
    } else {
      return _mm256_maddubs_epi16(w, q);
    }
  }
  HUNCH_INLINE static I Widen(I pairs) { return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)); }

  struct Partial {
    I pairs;  // 16-bit sums that still fit
    I wide;   // int32 sums of what was widened
  };
  template <TensorType type>
  HUNCH_INLINE static Partial Begin(const int32_t* /*start*/) {
    return {_mm256_setzero_si256(), _mm256_setzero_si256()};
  }
  template <TensorType type, int step, int steps>
  HUNCH_INLINE static void Add(Partial& sum, I wa, I wb, I qa, I qb) {
    constexpr int kAdd = Addable<type>();
    const I a = Products<type>(wa, qa);
    const I b = Products<type>(wb, qb);
    if constexpr (kAdd == 1) {
      const I wide = _mm256_add_epi32(Widen(a), Widen(b));
      sum.wide = step == 0 ? wide : _mm256_add_epi32(sum.wide, wide);
      return;
    }
    sum.pairs = 2 * step % kAdd == 0 ? _mm256_add_epi16(a, b)
                                     : _mm256_add_epi16(_mm256_add_epi16(sum.pairs, a), b);
    if constexpr (2 * (step + 1) % kAdd == 0 || step + 1 == steps) {
      const I wide = Widen(sum.pairs);
      sum.wide = 2 * step < kAdd ? wide : _mm256_add_epi32(sum.wide, wide);
    }
  }
  template <TensorType type>
  HUNCH_INLINE static void Fence(Partial& sum) {
    if constexpr (Addable<type>() > 2)
      asm volatile("" : "+x"(sum.pairs));
    else
      asm volatile("" : "+x"(sum.wide));
  }
  template <TensorType type>
  HUNCH_INLINE static I Finish(const Partial& sum, const int32_t* start) {
    return CodeOffset<type>() == 0 ? sum.wide
                                   : _mm256_add_epi32(sum.wide, _mm256_set1_epi32(*start));
  }

  HUNCH_INLINE static F Zero() { return _mm256_setzero_ps(); }
  HUNCH_INLINE static F ToFloat(I v) { return _mm256_cvtepi32_ps(v); }
  HUNCH_INLINE static F Mul(F a, F b) { return _mm256_mul_ps(a, b); }
  HUNCH_INLINE static F Fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  HUNCH_INLINE static F Negate(F v) { return _mm256_xor_ps(v, _mm256_set1_ps(-0.0f)); }
  HUNCH_INLINE static F Broadcast(const float* from) { return _mm256_broadcast_ss(from); }

  HUNCH_INLINE static __m128i Load8(const std::byte* from) {
    return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  }
  HUNCH_INLINE static __m128i Load16(const std::byte* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  }
  HUNCH_INLINE static F LoadF16(const std::byte* from) { return _mm256_cvtph_ps(Load16(from)); }
  HUNCH_INLINE static F WidenU8(const std::byte* from) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(Load8(from)));
  }
  HUNCH_INLINE static F WidenI8(const std::byte* from) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(Load8(from)));
  }
  HUNCH_INLINE static F WidenLowNibbles(const std::byte* from) {
    return _mm256_cvtepi32_ps(
        _mm256_and_si256(_mm256_cvtepu8_epi32(Load8(from)), _mm256_set1_epi32(15)));
  }
  HUNCH_INLINE static F WidenHighNibbles(const std::byte* from) {
    return _mm256_cvtepi32_ps(_mm256_srli_epi32(_mm256_cvtepu8_epi32(Load8(from)), 4));
  }
  template <TensorType type>
  HUNCH_INLINE static F LoadPlain(const std::byte* from) {
    if constexpr (type == TensorType::kF32) {
      return _mm256_loadu_ps(reinterpret_cast<const float*>(from));
    } else if constexpr (type == TensorType::kF16) {
      return LoadF16(from);
    } else {
      return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(Load16(from)), 16));
    }
  }
  HUNCH_INLINE static void Store(float* y, int lanes, F v) {
    const I lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    _mm256_maskstore_ps(y, _mm256_cmpgt_epi32(_mm256_set1_epi32(lanes), lane), v);
  }
};

}  // namespace

const MatMulKernels& MatMulKernelsAvx2() {
  static constexpr MatMulKernels kKernels = {"avx2", MatMulSimd<Avx2>, QuantizeRowSimd};
  return kKernels;
}

}  // namespace hunch

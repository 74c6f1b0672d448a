// Linear layers on AVX-512 with VNNI. A vector is 16 output rows; 8-bit codes are biased by 128,
// because vpdpbusd wants them unsigned.

// g++ 12 warns about its own _mm512_undefined_ps (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>

#include <cstring>

#include "kernels/matmul_inl.h"
#include "kernels/matmul_x86_inl.h"

namespace hunch {
namespace {

struct Avx512 : X86Sums {
  using F = __m512;                 // 16 outputs
  using I = __m512i;                // 16 quads of codes, or 16 int32
  static constexpr int kParts = 1;  // vectors that make up a group

  // 12 integer and 12 fp32 sums of two groups, and room for the codes; 8 rows spill.
  template <TensorType type>
  static constexpr int MaxTile() {
    return 6;
  }
  // Rows from which two groups are multiplied side by side wherever it runs: few rows of quantised
  // weights wait for memory, not for the load ports. F32, F16 and BF16 have one fma chain per
  // vector and wait for that.
  template <TensorType type>
  static constexpr int PairGroupsFrom() {
    return PackLayoutOf(type).scales == ScaleKind::kNone ? 1 : 4;
  }
  template <TensorType type>
  static constexpr int CodeOffset() {
    return type == TensorType::kQ8_0 || type == TensorType::kIQ4_NL
               ? 128
               : PackLayoutOf(type).code_offset;
  }

  HUNCH_INLINE static I Load(const std::byte* from) { return _mm512_loadu_si512(from); }
  HUNCH_INLINE static void StoreCodes(std::byte* to, I v) { _mm512_store_si512(to, v); }
  HUNCH_INLINE static I Set1(int byte) { return _mm512_set1_epi8(static_cast<char>(byte)); }
  HUNCH_INLINE static I And(I a, I b) { return _mm512_and_si512(a, b); }
  HUNCH_INLINE static I AndOr(I v, I mask, I low) {
    return _mm512_ternarylogic_epi32(v, mask, low, 0xEA);  // (v & mask) | low
  }
  template <int left>
  HUNCH_INLINE static I Shift(I v) {
    if constexpr (left > 0)
      return _mm512_slli_epi16(v, left);
    else if constexpr (left < 0)
      return _mm512_srli_epi16(v, -left);
    else
      return v;
  }
  HUNCH_INLINE static I FromSigned(I v) { return _mm512_xor_si512(v, Set1(0x80)); }
  HUNCH_INLINE static I Iq4NlLevels(I v) {
    // kIq4NlValues + 128
    const __m128i levels = _mm_setr_epi8(
        1, 24, 45, 63, 79, 93, 106, 118, static_cast<char>(129), static_cast<char>(141),
        static_cast<char>(153), static_cast<char>(166), static_cast<char>(181),
        static_cast<char>(197), static_cast<char>(217), static_cast<char>(241));
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(levels), v);
  }

  HUNCH_INLINE static I BroadcastQuad(const int8_t* q) {
    int32_t four;
    std::memcpy(&four, q, sizeof(four));
    I quad = _mm512_set1_epi32(four);
    asm("" : "+v"(quad));  // a register, not one memory operand per use
    return quad;
  }

  // The int32 sum itself.
  using Partial = I;
  template <TensorType type>
  HUNCH_INLINE static Partial Begin(const int32_t* start) {
    return CodeOffset<type>() == 0 ? _mm512_setzero_si512() : _mm512_set1_epi32(*start);
  }
  template <TensorType type, int step, int steps>
  HUNCH_INLINE static void Add(Partial& sum, I wa, I wb, I qa, I qb) {
    sum = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(sum, wa, qa), wb, qb);
  }
  template <TensorType type>
  HUNCH_INLINE static void Fence(Partial&) {}
  template <TensorType type>
  HUNCH_INLINE static I Finish(Partial sum, const int32_t* /*start*/) {
    return sum;
  }

  HUNCH_INLINE static F Zero() { return _mm512_setzero_ps(); }
  HUNCH_INLINE static F ToFloat(I v) { return _mm512_cvtepi32_ps(v); }
  HUNCH_INLINE static F Mul(F a, F b) { return _mm512_mul_ps(a, b); }
  HUNCH_INLINE static F Fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  HUNCH_INLINE static F Negate(F v) { return _mm512_xor_ps(v, _mm512_set1_ps(-0.0f)); }
  HUNCH_INLINE static F Broadcast(const float* from) { return _mm512_set1_ps(*from); }

  HUNCH_INLINE static __m128i Load16(const std::byte* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  }
  HUNCH_INLINE static __m256i Load32(const std::byte* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  HUNCH_INLINE static F LoadF16(const std::byte* from) { return _mm512_cvtph_ps(Load32(from)); }
  HUNCH_INLINE static F WidenU8(const std::byte* from) {
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(Load16(from)));
  }
  HUNCH_INLINE static F WidenI8(const std::byte* from) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(Load16(from)));
  }
  HUNCH_INLINE static F WidenLowNibbles(const std::byte* from) {
    return _mm512_cvtepi32_ps(
        _mm512_and_si512(_mm512_cvtepu8_epi32(Load16(from)), _mm512_set1_epi32(15)));
  }
  HUNCH_INLINE static F WidenHighNibbles(const std::byte* from) {
    return _mm512_cvtepi32_ps(_mm512_srli_epi32(_mm512_cvtepu8_epi32(Load16(from)), 4));
  }
  template <TensorType type>
  HUNCH_INLINE static F LoadPlain(const std::byte* from) {
    if constexpr (type == TensorType::kF32) {
      return _mm512_loadu_ps(from);
    } else if constexpr (type == TensorType::kF16) {
      return LoadF16(from);
    } else {
      return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(Load32(from)), 16));
    }
  }
  HUNCH_INLINE static void Store(float* y, int lanes, F v) {
    const unsigned mask = lanes >= 16 ? 0xFFFF : (1u << lanes) - 1;
    _mm512_mask_storeu_ps(y, static_cast<__mmask16>(mask), v);
  }
};

}  // namespace

const MatMulKernels& MatMulKernelsAvx512() {
  static constexpr MatMulKernels kKernels = {"avx512", MatMulSimd<Avx512>, QuantizeRowSimd};
  return kKernels;
}

}  // namespace hunch

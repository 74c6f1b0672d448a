// Linear layers on NEON with the dot-product extension. A vector is 4 of a group's 16 output rows.
// sdot wants signed bytes: the codes of all types fit as they are, since those that are unsigned
// have at most 6 bits, so an offset comes off as on x86, by where the integer sum starts.
#include <arm_neon.h>

#include <cstring>

#include "kernels/matmul_inl.h"

namespace hunch {
namespace {

struct Neon {
  using F = float32x4_t;            // 4 outputs
  using I = int8x16_t;              // 4 quads of codes, or 4 int32
  static constexpr int kParts = 4;  // vectors that make up a group

  // Never measured on a real CPU; 4 rows take the fewest instructions per row. 16 integer sums and
  // 8 registers of codes fit the 32 registers; the 16 fp32 sums wait in L1 for the end of a block.
  template <TensorType type>
  static constexpr int MaxTile() {
    return 4;
  }
  template <TensorType type>
  static constexpr int CodeOffset() {
    return PackLayoutOf(type).code_offset;
  }

  HUNCH_INLINE static I Load(const std::byte* from) {
    return vld1q_s8(reinterpret_cast<const int8_t*>(from));
  }
  HUNCH_INLINE static void StoreCodes(std::byte* to, I v) {
    vst1q_s8(reinterpret_cast<int8_t*>(to), v);
  }
  HUNCH_INLINE static I Set1(int byte) { return vdupq_n_s8(static_cast<int8_t>(byte)); }
  HUNCH_INLINE static I And(I a, I b) { return vandq_s8(a, b); }
  // `low` has no bit of the mask.
  HUNCH_INLINE static I AndOr(I v, I mask, I low) {
    return vbslq_s8(vreinterpretq_u8_s8(mask), v, low);
  }
  template <int left>
  HUNCH_INLINE static I Shift(I v) {
    if constexpr (left > 0)
      return vshlq_n_s8(v, left);
    else if constexpr (left < 0)
      return vreinterpretq_s8_u8(vshrq_n_u8(vreinterpretq_u8_s8(v), -left));
    else
      return v;
  }
  HUNCH_INLINE static I FromSigned(I v) { return v; }
  HUNCH_INLINE static I Iq4NlLevels(I v) {
    static constexpr int8_t kLevels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                           1,    13,   25,  38,  53,  69,  89,  113};
    return vqtbl1q_s8(vld1q_s8(kLevels), vreinterpretq_u8_s8(v));
  }

  HUNCH_INLINE static I BroadcastQuad(const int8_t* q) {
    int32_t four;
    std::memcpy(&four, q, sizeof(four));
    return vreinterpretq_s8_s32(vdupq_n_s32(four));
  }

  // The int32 sum itself.
  using Partial = int32x4_t;
  template <TensorType type>
  HUNCH_INLINE static Partial Begin(const int32_t* start) {
    return CodeOffset<type>() == 0 ? vdupq_n_s32(0) : vld1q_dup_s32(start);
  }
  template <TensorType type, int step, int steps>
  HUNCH_INLINE static void Add(Partial& sum, I wa, I wb, I qa, I qb) {
    sum = vdotq_s32(vdotq_s32(sum, wa, qa), wb, qb);
  }
  // Else the compiler unpacks later quads too early and spills (a sixth more instructions).
  template <TensorType type>
  HUNCH_INLINE static void Fence(Partial& sum) {
    asm volatile("" : "+w"(sum));
  }
  template <TensorType type>
  HUNCH_INLINE static I Finish(Partial sum, const int32_t* /*start*/) {
    return vreinterpretq_s8_s32(sum);
  }

  // Primitives of PrepareSums, as matmul_x86_inl.h describes them.
  HUNCH_INLINE static void ScaleHalfSums(const int16_t* sum, int factor, int32_t* to) {
    for (int i = 0; i < 16; i += 4) {
      vst1q_s32(to + i, vmulq_n_s32(vmovl_s16(vld1_s16(sum + i)), factor));
    }
  }
  HUNCH_INLINE static void ScaleHalfSums(const int16_t* sum, const float* scale, float* to) {
    for (int i = 0; i < 16; i += 8) {
      const F four = vld1q_f32(scale + i / 2);  // each for two halves of a block
      const int16x8_t sums = vld1q_s16(sum + i);
      const F low = vcvtq_f32_s32(vmovl_s16(vget_low_s16(sums)));
      const F high = vcvtq_f32_s32(vmovl_s16(vget_high_s16(sums)));
      vst1q_f32(to + i, vmulq_f32(low, vzip1q_f32(four, four)));
      vst1q_f32(to + i + 4, vmulq_f32(high, vzip2q_f32(four, four)));
    }
  }
  HUNCH_INLINE static void ScaleSums(const int16_t* sum, int factor, int32_t* to) {
    for (int i = 0; i < 8; i += 4) {
      vst1q_s32(to + i, vmulq_n_s32(vpaddlq_s16(vld1q_s16(sum + 2 * i)), factor));
    }
  }
  HUNCH_INLINE static void ScaleSums(const int16_t* sum, const float* scale, float* to) {
    for (int i = 0; i < 8; i += 4) {
      const F sums = vcvtq_f32_s32(vpaddlq_s16(vld1q_s16(sum + 2 * i)));
      vst1q_f32(to + i, vmulq_f32(sums, vld1q_f32(scale + i)));
    }
  }

  HUNCH_INLINE static F Zero() { return vdupq_n_f32(0); }
  HUNCH_INLINE static F ToFloat(I v) { return vcvtq_f32_s32(vreinterpretq_s32_s8(v)); }
  HUNCH_INLINE static F Mul(F a, F b) { return vmulq_f32(a, b); }
  HUNCH_INLINE static F Fma(F a, F b, F c) { return vfmaq_f32(c, a, b); }
  HUNCH_INLINE static F Negate(F v) { return vnegq_f32(v); }
  HUNCH_INLINE static F Broadcast(const float* from) { return vld1q_dup_f32(from); }

  // Four bytes, unsigned, and nothing past them.
  HUNCH_INLINE static uint16x4_t Load4(const std::byte* from) {
    uint32_t four;
    std::memcpy(&four, from, sizeof(four));
    return vget_low_u16(vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(four))));
  }
  HUNCH_INLINE static F Widen(uint16x4_t v) { return vcvtq_f32_u32(vmovl_u16(v)); }
  HUNCH_INLINE static F WidenU8(const std::byte* from) { return Widen(Load4(from)); }
  HUNCH_INLINE static F WidenI8(const std::byte* from) {
    // To the top of 16 bits and down again with the sign.
    const int16x4_t v = vreinterpret_s16_u16(vshl_n_u16(Load4(from), 8));
    return vcvtq_f32_s32(vmovl_s16(vshr_n_s16(v, 8)));
  }
  HUNCH_INLINE static F WidenLowNibbles(const std::byte* from) {
    return Widen(vand_u16(Load4(from), vdup_n_u16(15)));
  }
  HUNCH_INLINE static F WidenHighNibbles(const std::byte* from) {
    return Widen(vshr_n_u16(Load4(from), 4));
  }
  HUNCH_INLINE static uint16x4_t LoadHalves(const std::byte* from) {
    return vld1_u16(reinterpret_cast<const uint16_t*>(from));
  }
  HUNCH_INLINE static F LoadF16(const std::byte* from) {
    return vcvt_f32_f16(vreinterpret_f16_u16(LoadHalves(from)));
  }
  template <TensorType type>
  HUNCH_INLINE static F LoadPlain(const std::byte* from) {
    if constexpr (type == TensorType::kF32) {
      return vld1q_f32(reinterpret_cast<const float*>(from));
    } else if constexpr (type == TensorType::kF16) {
      return LoadF16(from);
    } else {
      return vreinterpretq_f32_u32(vshll_n_u16(LoadHalves(from), 16));
    }
  }
  HUNCH_INLINE static void Store(float* y, int lanes, F v) {
    if (lanes >= 4) {
      vst1q_f32(y, v);
      return;
    }
    float four[4];
    vst1q_f32(four, v);
    for (int i = 0; i < lanes; ++i) y[i] = four[i];
  }
};

// Four lanes times `inverse`, rounded to nearest even; a NaN becomes 0.
HUNCH_INLINE int16x4_t QuantizeLanes(float32x4_t x, float32x4_t inverse) {
  const float32x4_t low = vmaxq_f32(vmulq_f32(x, inverse), vdupq_n_f32(-127));
  return vmovn_s32(vcvtnq_s32_f32(vminq_f32(low, vdupq_n_f32(127))));
}

void QuantizeRowNeon(const float* x, int64_t k, int8_t* q, float* scale, int16_t* sum) {
  for (int64_t block = 0; block < k / 32; ++block, x += 32, q += 32) {
    // Magnitudes compare as integers; a NaN is above every number and so reaches the scale.
    uint32x4_t largest = vdupq_n_u32(0);
    for (int i = 0; i < 32; i += 4) {
      const uint32x4_t bits = vreinterpretq_u32_f32(vabsq_f32(vld1q_f32(x + i)));
      largest = vmaxq_u32(largest, bits);
    }
    const uint32_t magnitude = vmaxvq_u32(largest);
    float amax;
    std::memcpy(&amax, &magnitude, sizeof(amax));
    scale[block] = amax / 127;
    const float32x4_t inverse = vdupq_n_f32(amax == 0 ? 0 : 127 / amax);
    for (int half = 0; half < 2; ++half) {
      int8x8_t bytes[2];
      for (int i = 0; i < 2; ++i) {
        const float* from = x + 16 * half + 8 * i;
        bytes[i] = vmovn_s16(vcombine_s16(QuantizeLanes(vld1q_f32(from), inverse),
                                          QuantizeLanes(vld1q_f32(from + 4), inverse)));
      }
      const int8x16_t codes = vcombine_s8(bytes[0], bytes[1]);
      vst1q_s8(q + 16 * half, codes);
      sum[2 * block + half] = vaddlvq_s8(codes);
    }
  }
}

}  // namespace

const MatMulKernels& MatMulKernelsNeon() {
  static constexpr MatMulKernels kKernels = {"neon", MatMulSimd<Neon>, QuantizeRowNeon};
  return kKernels;
}

}  // namespace hunch

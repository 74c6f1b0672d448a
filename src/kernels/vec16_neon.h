// The Vec16 primitives on NEON (any AArch64): four registers are sixteen lanes. Meanings are
// written in vec16_ref.h. Intrinsics only, everything local to the file that includes it.
#ifndef HUNCH_KERNELS_VEC16_NEON_H_
#define HUNCH_KERNELS_VEC16_NEON_H_

#include <arm_neon.h>
#include <stdint.h>

#define VEC16_FN inline __attribute__((always_inline))

namespace hunch {
namespace {

constexpr int kMaxQueryTile = 6;
// Of 32 registers: 24 accumulate (6 times four), the rest hold K or V and broadcasts.
constexpr int kTileRegisters = 6;

struct Floats {
  float32x4_t a, b, c, d;  // lanes 0-3, 4-7, 8-11, 12-15
};
struct Ints {
  int32x4_t a, b, c, d;
};
struct Mask {
  uint32x4_t a, b, c, d;  // all bits of a lane set or clear
};

// fn of each four lanes.
template <typename Out, typename Fn, typename... In>
VEC16_FN Out Map(Fn fn, In... in) {
  return {fn(in.a...), fn(in.b...), fn(in.c...), fn(in.d...)};
}

VEC16_FN Floats LoadFloats(const float* p) {
  return {vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)};
}
VEC16_FN void StoreFloats(float* p, Floats v) {
  vst1q_f32(p, v.a);
  vst1q_f32(p + 4, v.b);
  vst1q_f32(p + 8, v.c);
  vst1q_f32(p + 12, v.d);
}
// There are no masked loads and stores; tails are short and rare.
VEC16_FN Floats LoadFloats(const float* p, int n) {
  float lanes[16] = {};
  for (int i = 0; i < n; ++i) lanes[i] = p[i];
  return LoadFloats(lanes);
}
VEC16_FN void StoreFloats(float* p, Floats v, int n) {
  float lanes[16];
  StoreFloats(lanes, v);
  for (int i = 0; i < n; ++i) p[i] = lanes[i];
}
VEC16_FN Floats Splat(float x) {
  const float32x4_t v = vdupq_n_f32(x);
  return {v, v, v, v};
}
VEC16_FN Floats Add(Floats x, Floats y) {
  return Map<Floats>([](float32x4_t a, float32x4_t b) { return vaddq_f32(a, b); }, x, y);
}
VEC16_FN Floats Sub(Floats x, Floats y) {
  return Map<Floats>([](float32x4_t a, float32x4_t b) { return vsubq_f32(a, b); }, x, y);
}
VEC16_FN Floats Mul(Floats x, Floats y) {
  return Map<Floats>([](float32x4_t a, float32x4_t b) { return vmulq_f32(a, b); }, x, y);
}
VEC16_FN Floats Div(Floats x, Floats y) {
  return Map<Floats>([](float32x4_t a, float32x4_t b) { return vdivq_f32(a, b); }, x, y);
}
VEC16_FN Floats Fma(Floats x, Floats y, Floats z) {
  return Map<Floats>([](float32x4_t a, float32x4_t b, float32x4_t c) { return vfmaq_f32(c, a, b); },
                     x, y, z);
}
VEC16_FN Floats FmaSub(Floats x, Floats y, Floats z) {
  return Map<Floats>(
      [](float32x4_t a, float32x4_t b, float32x4_t c) { return vfmaq_f32(vnegq_f32(c), a, b); }, x,
      y, z);
}
// Not vmaxq and vminq, which return NaN when either operand is, and order the zeros.
VEC16_FN float32x4_t QuarterMax(float32x4_t a, float32x4_t b) {
  return vbslq_f32(vcgtq_f32(a, b), a, b);
}
VEC16_FN Floats Max(Floats x, Floats y) {
  return Map<Floats>([](float32x4_t a, float32x4_t b) { return QuarterMax(a, b); }, x, y);
}
VEC16_FN Floats Min(Floats x, Floats y) {
  return Map<Floats>([](float32x4_t a, float32x4_t b) { return vbslq_f32(vcltq_f32(a, b), a, b); },
                     x, y);
}

VEC16_FN Mask Less(Floats x, Floats y) {
  return Map<Mask>([](float32x4_t a, float32x4_t b) { return vcltq_f32(a, b); }, x, y);
}
VEC16_FN Mask Equal(Floats x, Floats y) {
  return Map<Mask>([](float32x4_t a, float32x4_t b) { return vceqq_f32(a, b); }, x, y);
}
VEC16_FN Mask EqualInts(Ints x, Ints y) {
  return Map<Mask>([](int32x4_t a, int32x4_t b) { return vceqq_s32(a, b); }, x, y);
}
VEC16_FN Floats Select(Mask m, Floats x, Floats y) {
  return Map<Floats>(
      [](uint32x4_t mask, float32x4_t a, float32x4_t b) { return vbslq_f32(mask, a, b); }, m, x, y);
}
VEC16_FN uint32_t SetLanes(Mask m) {
  const uint16x8_t low = vcombine_u16(vmovn_u32(m.a), vmovn_u32(m.b));
  const uint16x8_t high = vcombine_u16(vmovn_u32(m.c), vmovn_u32(m.d));
  const uint8x16_t bytes = vcombine_u8(vmovn_u16(low), vmovn_u16(high));
  const uint8x16_t bits = vandq_u8(bytes, vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201)));
  return static_cast<uint32_t>(vaddv_u8(vget_low_u8(bits))) |
         static_cast<uint32_t>(vaddv_u8(vget_high_u8(bits))) << 8;
}

VEC16_FN Ints AsInts(Floats x) {
  return Map<Ints>([](float32x4_t a) { return vreinterpretq_s32_f32(a); }, x);
}
VEC16_FN Floats AsFloats(Ints x) {
  return Map<Floats>([](int32x4_t a) { return vreinterpretq_f32_s32(a); }, x);
}
VEC16_FN Ints SplatInt(int32_t x) {
  const int32x4_t v = vdupq_n_s32(x);
  return {v, v, v, v};
}
VEC16_FN Ints AddInts(Ints x, Ints y) {
  return Map<Ints>([](int32x4_t a, int32x4_t b) { return vaddq_s32(a, b); }, x, y);
}
VEC16_FN Ints AndInts(Ints x, Ints y) {
  return Map<Ints>([](int32x4_t a, int32x4_t b) { return vandq_s32(a, b); }, x, y);
}
template <int kBits>
VEC16_FN Ints ShiftRight(Ints x) {
  return Map<Ints>([](int32x4_t a) { return vshrq_n_s32(a, kBits); }, x);
}
VEC16_FN Floats ToFloats(Ints x) {
  return Map<Floats>([](int32x4_t a) { return vcvtq_f32_s32(a); }, x);
}
// Nearest, ties to even; of numbers that fit.
VEC16_FN Ints RoundToInts(Floats x) {
  return Map<Ints>([](float32x4_t a) { return vcvtnq_s32_f32(a); }, x);
}
VEC16_FN Floats UnsignedToFloats(Ints x) {
  return Map<Floats>([](int32x4_t a) { return vcvtq_f32_u32(vreinterpretq_u32_s32(a)); }, x);
}
VEC16_FN float32x4_t PowerOfTwo(int32x4_t n) {
  return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n, vdupq_n_s32(127)), 23));
}
VEC16_FN Floats ScaleByPowerOfTwo(Floats x, Floats y) {
  return Map<Floats>(
      [](float32x4_t p, float32x4_t n) {
        const int32x4_t exponent = vcvtnq_s32_f32(n);
        const int32x4_t half = vshrq_n_s32(exponent, 1);
        return vmulq_f32(vmulq_f32(p, PowerOfTwo(half)), PowerOfTwo(vsubq_s32(exponent, half)));
      },
      x, y);
}

VEC16_FN float SumTree(Floats v) {
  const float32x4_t four = vaddq_f32(vaddq_f32(v.a, v.c), vaddq_f32(v.b, v.d));
  const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}
VEC16_FN float MaxTree(Floats v) {
  const float32x4_t four = QuarterMax(QuarterMax(v.a, v.c), QuarterMax(v.b, v.d));
  const float32x2_t low = vget_low_f32(four), high = vget_high_f32(four);
  const float32x2_t two = vbsl_f32(vcgt_f32(low, high), low, high);
  const float x = vget_lane_f32(two, 0), y = vget_lane_f32(two, 1);
  return x > y ? x : y;
}

VEC16_FN float32x4_t QuarterFromHalves(const uint16_t* p) {
  return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
VEC16_FN Floats LoadKv(const uint16_t* p) {
  return {QuarterFromHalves(p), QuarterFromHalves(p + 4), QuarterFromHalves(p + 8),
          QuarterFromHalves(p + 12)};
}
VEC16_FN Floats LoadKv(const int8_t* p) {
  const int8x16_t v = vld1q_s8(p);
  const int16x8_t low = vmovl_s8(vget_low_s8(v)), high = vmovl_s8(vget_high_s8(v));
  return ToFloats({vmovl_s16(vget_low_s16(low)), vmovl_s16(vget_high_s16(low)),
                   vmovl_s16(vget_low_s16(high)), vmovl_s16(vget_high_s16(high))});
}
VEC16_FN Floats LoadKv(const float* p) { return LoadFloats(p); }
// Rounds as FPCR says, which SetNumericsMode has set to nearest even.
VEC16_FN void QuarterToHalves(uint16_t* p, float32x4_t v) {
  vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v)));
}
VEC16_FN void StoreKv(uint16_t* p, Floats v) {
  QuarterToHalves(p, v.a);
  QuarterToHalves(p + 4, v.b);
  QuarterToHalves(p + 8, v.c);
  QuarterToHalves(p + 12, v.d);
}
VEC16_FN void StoreKv(float* p, Floats v) { StoreFloats(p, v); }
VEC16_FN void Prefetch(const void* p) { __builtin_prefetch(p); }

VEC16_FN void Deinterleave(Floats a, Floats b, Floats& even, Floats& odd) {
  even = {vuzp1q_f32(a.a, a.b), vuzp1q_f32(a.c, a.d), vuzp1q_f32(b.a, b.b), vuzp1q_f32(b.c, b.d)};
  odd = {vuzp2q_f32(a.a, a.b), vuzp2q_f32(a.c, a.d), vuzp2q_f32(b.a, b.b), vuzp2q_f32(b.c, b.d)};
}
VEC16_FN void Interleave(Floats even, Floats odd, Floats& a, Floats& b) {
  a = {vzip1q_f32(even.a, odd.a), vzip2q_f32(even.a, odd.a), vzip1q_f32(even.b, odd.b),
       vzip2q_f32(even.b, odd.b)};
  b = {vzip1q_f32(even.c, odd.c), vzip2q_f32(even.c, odd.c), vzip1q_f32(even.d, odd.d),
       vzip2q_f32(even.d, odd.d)};
}

// The halves of the 64-bit products x[i] * by.
VEC16_FN void MultiplyWide(uint32x4_t x, uint32_t by, uint32x4_t& low, uint32x4_t& high) {
  const uint32x4_t first = vreinterpretq_u32_u64(vmull_n_u32(vget_low_u32(x), by));
  const uint32x4_t second = vreinterpretq_u32_u64(vmull_n_u32(vget_high_u32(x), by));
  low = vuzp1q_u32(first, second);
  high = vuzp2q_u32(first, second);
}
// Words of the counters block .. block + 3.
VEC16_FN Ints PhiloxFour(uint32_t block, uint32_t counter1, uint32_t counter2, uint32_t counter3,
                         uint32_t key0, uint32_t key1) {
  static constexpr uint32_t kSteps[4] = {0, 1, 2, 3};
  uint32x4_t c0 = vaddq_u32(vdupq_n_u32(block), vld1q_u32(kSteps));
  uint32x4_t c1 = vdupq_n_u32(counter1), c2 = vdupq_n_u32(counter2), c3 = vdupq_n_u32(counter3);
  for (int round = 0; round < 10; ++round) {
    uint32x4_t low0, high0, low1, high1;
    MultiplyWide(c0, 0xD2511F53u, low0, high0);
    MultiplyWide(c2, 0xCD9E8D57u, low1, high1);
    c0 = veorq_u32(veorq_u32(high1, c1), vdupq_n_u32(key0));
    c2 = veorq_u32(veorq_u32(high0, c3), vdupq_n_u32(key1));
    c1 = low1;
    c3 = low0;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  // A register of one word of four counters becomes four words of one counter.
  const int32x4_t even0 = vreinterpretq_s32_u32(vzip1q_u32(c0, c2));
  const int32x4_t even1 = vreinterpretq_s32_u32(vzip2q_u32(c0, c2));
  const int32x4_t odd0 = vreinterpretq_s32_u32(vzip1q_u32(c1, c3));
  const int32x4_t odd1 = vreinterpretq_s32_u32(vzip2q_u32(c1, c3));
  return {vzip1q_s32(even0, odd0), vzip2q_s32(even0, odd0), vzip1q_s32(even1, odd1),
          vzip2q_s32(even1, odd1)};
}
VEC16_FN void PhiloxWords(uint32_t block, uint32_t counter1, uint32_t counter2, uint32_t counter3,
                          uint32_t key0, uint32_t key1, Ints words[2]) {
  words[0] = PhiloxFour(block, counter1, counter2, counter3, key0, key1);
  words[1] = PhiloxFour(block + 4, counter1, counter2, counter3, key0, key1);
}

}  // namespace
}  // namespace hunch

#endif  // HUNCH_KERNELS_VEC16_NEON_H_

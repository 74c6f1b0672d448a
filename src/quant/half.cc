// f16 and bf16 to and from fp32, on the bits alone: no instruction set and no compiler type decides
// them.
#include <bit>

#include "quant/quant.h"

namespace hunch {

float F16ToF32(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = (half >> 10) & 31;
  const uint32_t fraction = half & 0x3FF;
  if (exponent == 31) {  // infinity, or a NaN that is made quiet as F16C does
    const uint32_t quiet = fraction != 0 ? 0x400000 : 0;
    return std::bit_cast<float>(sign | 0x7F800000 | quiet | fraction << 13);
  }
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24, exact in fp32
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

uint16_t F32ToF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) {  // NaN: the payload's top bits, made quiet
    return static_cast<uint16_t>(sign | 0x7E00 | (magnitude >> 13 & 0x1FF));
  }
  // 65520 is half-way between the largest f16 and the next power of two; the tie goes to the even
  // side, which is infinity.
  if (magnitude >= 0x477FF000) return sign | 0x7C00;
  if (magnitude < 0x38800000) {  // below 2^-14: a multiple of 2^-24
    const uint32_t exponent = magnitude >> 23;
    // At most 2^-25, half of the smallest subnormal: the tie goes to zero.
    if (magnitude <= 0x33000000) return sign;
    const uint32_t significand = (magnitude & 0x7FFFFF) | 0x800000;
    const uint32_t shift = 126 - exponent;  // 14..24
    const uint32_t quotient = significand >> shift;
    const uint32_t remainder = significand & ((1u << shift) - 1);
    const uint32_t half = 1u << (shift - 1);
    const bool up = remainder > half || (remainder == half && (quotient & 1) != 0);
    return static_cast<uint16_t>(sign | (quotient + (up ? 1 : 0)));
  }
  // Normal: a carry out of the fraction moves the exponent up by itself.
  const uint32_t rebased = magnitude - (112u << 23);
  return static_cast<uint16_t>(sign | (rebased + 0xFFF + (rebased >> 13 & 1)) >> 13);
}

float Bf16ToF32(uint16_t half) { return std::bit_cast<float>(static_cast<uint32_t>(half) << 16); }

uint16_t F32ToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) {  // NaN: rounding could carry it to infinity
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  }
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

}  // namespace hunch

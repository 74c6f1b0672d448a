// Packed codes to one byte each, in registers, for matmul_inl.h. Layout of the planes:
// pack_layout.h. A vector of S holds the quads (4 consecutive K) of 16 / S::kHalves rows.
#ifndef HUNCH_KERNELS_MATMUL_UNPACK_INL_H_
#define HUNCH_KERNELS_MATMUL_UNPACK_INL_H_

#include <cstddef>

#include "kernels/pack_layout.h"
#include "quant/types.h"

#define HUNCH_INLINE [[gnu::always_inline]] inline

namespace hunch {
namespace {

// ((v << left) & mask) | low, left negative for a shift to the right. Shifts move 16-bit lanes:
// what crosses a byte is masked away.
template <typename S, int left>
HUNCH_INLINE typename S::I MergeBits(typename S::I v, int mask, typename S::I low) {
  return S::AndOr(S::template Shift<left>(v), S::Set1(mask), low);
}

// Four quads from `first` (0 or 4) of the 4-bit plane.
template <typename S, int first>
HUNCH_INLINE void Unpack4(const std::byte* plane, typename S::I* w) {
  const typename S::I mask = S::Set1(0x0F);
#pragma GCC unroll 4
  for (int t = 0; t < 4; ++t) {
    const typename S::I v = S::Load(plane + 64 * t);
    w[t] = first == 0 ? S::And(v, mask) : S::And(S::template Shift<-4>(v), mask);
  }
}

template <typename S, int first>
HUNCH_INLINE void Unpack2(const std::byte* plane, typename S::I* w) {
  const typename S::I v = S::Load(plane + 16 * first);
  const typename S::I mask = S::Set1(3);
  w[0] = S::And(v, mask);
  w[1] = S::And(S::template Shift<-2>(v), mask);
  w[2] = S::And(S::template Shift<-4>(v), mask);
  w[3] = S::And(S::template Shift<-6>(v), mask);
}

// Adds a 1-bit plane as bit `bit` of the codes.
template <typename S, int first, int bit>
HUNCH_INLINE void Merge1(const std::byte* plane, typename S::I* w) {
  const typename S::I v = S::Load(plane);
  w[0] = MergeBits<S, bit - first>(v, 1 << bit, w[0]);
  w[1] = MergeBits<S, bit - first - 1>(v, 1 << bit, w[1]);
  w[2] = MergeBits<S, bit - first - 2>(v, 1 << bit, w[2]);
  w[3] = MergeBits<S, bit - first - 3>(v, 1 << bit, w[3]);
}

// Adds a 2-bit plane as bits 4 and 5.
template <typename S, int first>
HUNCH_INLINE void Merge2(const std::byte* plane, typename S::I* w) {
  const typename S::I v = S::Load(plane + 16 * first);
  w[0] = MergeBits<S, 4>(v, 0x30, w[0]);
  w[1] = MergeBits<S, 2>(v, 0x30, w[1]);
  w[2] = MergeBits<S, 0>(v, 0x30, w[2]);
  w[3] = MergeBits<S, -2>(v, 0x30, w[3]);
}

// w[4] = quads first..first + 3 as Dot<type> wants them. `half` selects the rows of a narrow S.
template <typename S, TensorType type, int first>
HUNCH_INLINE void UnpackQuads(const std::byte* codes, int half, typename S::I* w) {
  constexpr int kBits = PackLayoutOf(type).code_bits;
  codes += 32 * half;
  if constexpr (kBits == 8) {
#pragma GCC unroll 4
    for (int t = 0; t < 4; ++t) w[t] = S::FromSigned(S::Load(codes + 64 * (first + t)));
  } else if constexpr (kBits == 2 || kBits == 3) {
    Unpack2<S, first>(codes, w);
    if constexpr (kBits == 3) Merge1<S, first, 2>(codes + 128, w);
  } else {
    Unpack4<S, first>(codes, w);
    if constexpr (kBits == 5) Merge1<S, first, 4>(codes + 256, w);
    if constexpr (kBits == 6) Merge2<S, first>(codes + 256, w);
    if constexpr (type == TensorType::kIQ4_NL) {
#pragma GCC unroll 4
      for (int t = 0; t < 4; ++t) w[t] = S::Iq4NlLevels(w[t]);
    }
  }
}

}  // namespace
}  // namespace hunch

#endif  // HUNCH_KERNELS_MATMUL_UNPACK_INL_H_

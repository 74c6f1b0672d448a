// Packed codes to one byte each, in registers, for matmul_inl.h. Layout of the planes:
// pack_layout.h. A vector of S holds the quads (4 consecutive K) of 16 / S::kParts rows.
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

// Quad `quad` of the 4-bit plane.
template <typename S, int quad>
HUNCH_INLINE typename S::I Unpack4(const std::byte* plane) {
  const typename S::I v = S::Load(plane + 64 * (quad % 4));
  return S::And(S::template Shift < quad < 4 ? 0 : -4 > (v), S::Set1(0x0F));
}

template <typename S, int quad>
HUNCH_INLINE typename S::I Unpack2(const std::byte* plane) {
  return S::And(S::template Shift<-2 * (quad % 4)>(S::Load(plane + 64 * (quad / 4))), S::Set1(3));
}

// The code of a quad as S::Add<type> wants it.
template <typename S, TensorType type, int quad>
HUNCH_INLINE typename S::I UnpackQuad(const std::byte* codes) {
  constexpr int kBits = PackLayoutOf(type).code_bits;
  if constexpr (kBits == 8) {
    return S::FromSigned(S::Load(codes + 64 * quad));
  } else if constexpr (type == TensorType::kIQ4_NL) {
    return S::Iq4NlLevels(Unpack4<S, quad>(codes));
  } else if constexpr (kBits == 2) {
    return Unpack2<S, quad>(codes);
  } else if constexpr (kBits == 3) {
    return MergeBits<S, 2 - quad>(S::Load(codes + 128), 1 << 2, Unpack2<S, quad>(codes));
  } else if constexpr (kBits == 4) {
    return Unpack4<S, quad>(codes);
  } else if constexpr (kBits == 5) {
    return MergeBits<S, 4 - quad>(S::Load(codes + 256), 1 << 4, Unpack4<S, quad>(codes));
  } else {
    const typename S::I high = S::Load(codes + 256 + 64 * (quad / 4));
    return MergeBits<S, 4 - 2 * (quad % 4)>(high, 3 << 4, Unpack4<S, quad>(codes));
  }
}

}  // namespace
}  // namespace hunch

#endif  // HUNCH_KERNELS_MATMUL_UNPACK_INL_H_

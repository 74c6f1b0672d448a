// Sixteen fp32 lanes in plain C++: the written meaning of every Vec16 primitive (vec16_avx2.h and
// vec16_avx512.h have the same functions, bit for bit; NaN payloads excepted). The ops are written
// once on top of these (ops_inl.h) and compiled per instruction set.
// Included by ops_ref.cc only, once; everything is local to that file. Pure.
#ifndef HUNCH_KERNELS_VEC16_REF_H_
#define HUNCH_KERNELS_VEC16_REF_H_

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/philox.h"
#include "quant/quant.h"

#define VEC16_FN inline

namespace hunch {
namespace {

// Queries (row x query head) that one pass over a K/V chunk serves.
constexpr int kMaxQueryTile = 8;
// Accumulators that the register file holds (here: any number).
constexpr int kTileRegisters = 8;

struct Floats {
  float lane[16];
};
struct Ints {
  int32_t lane[16];
};
struct Mask {
  bool lane[16];
};

template <typename Fn>
Floats MapFloats(Fn fn) {
  Floats out;
  for (int i = 0; i < 16; ++i) out.lane[i] = fn(i);
  return out;
}
template <typename Fn>
Ints MapInts(Fn fn) {
  Ints out;
  for (int i = 0; i < 16; ++i) out.lane[i] = fn(i);
  return out;
}
template <typename Fn>
Mask MapMask(Fn fn) {
  Mask out;
  for (int i = 0; i < 16; ++i) out.lane[i] = fn(i);
  return out;
}

inline Floats LoadFloats(const float* p) {
  return MapFloats([&](int i) { return p[i]; });
}
// The first n lanes; the others are +0.
inline Floats LoadFloats(const float* p, int n) {
  return MapFloats([&](int i) { return i < n ? p[i] : 0.0f; });
}
inline void StoreFloats(float* p, const Floats& v) {
  for (int i = 0; i < 16; ++i) p[i] = v.lane[i];
}
inline void StoreFloats(float* p, const Floats& v, int n) {
  for (int i = 0; i < n; ++i) p[i] = v.lane[i];
}
inline Floats Splat(float x) {
  return MapFloats([&](int) { return x; });
}
inline Floats Add(const Floats& a, const Floats& b) {
  return MapFloats([&](int i) { return a.lane[i] + b.lane[i]; });
}
inline Floats Sub(const Floats& a, const Floats& b) {
  return MapFloats([&](int i) { return a.lane[i] - b.lane[i]; });
}
inline Floats Mul(const Floats& a, const Floats& b) {
  return MapFloats([&](int i) { return a.lane[i] * b.lane[i]; });
}
inline Floats Div(const Floats& a, const Floats& b) {
  return MapFloats([&](int i) { return a.lane[i] / b.lane[i]; });
}
inline Floats Fma(const Floats& a, const Floats& b, const Floats& c) {
  return MapFloats([&](int i) { return std::fma(a.lane[i], b.lane[i], c.lane[i]); });
}
// a * b - c, one rounding.
inline Floats FmaSub(const Floats& a, const Floats& b, const Floats& c) {
  return MapFloats([&](int i) { return std::fma(a.lane[i], b.lane[i], -c.lane[i]); });
}
// As x86 has them: the second operand when either is NaN.
inline Floats Max(const Floats& a, const Floats& b) {
  return MapFloats([&](int i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
}
inline Floats Min(const Floats& a, const Floats& b) {
  return MapFloats([&](int i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
}

// Comparisons are false when an operand is NaN.
inline Mask Less(const Floats& a, const Floats& b) {
  return MapMask([&](int i) { return a.lane[i] < b.lane[i]; });
}
inline Mask Equal(const Floats& a, const Floats& b) {
  return MapMask([&](int i) { return a.lane[i] == b.lane[i]; });
}
inline Mask EqualInts(const Ints& a, const Ints& b) {
  return MapMask([&](int i) { return a.lane[i] == b.lane[i]; });
}
// m ? a : b
inline Floats Select(const Mask& m, const Floats& a, const Floats& b) {
  return MapFloats([&](int i) { return m.lane[i] ? a.lane[i] : b.lane[i]; });
}
// Bit i: lane i is set.
inline uint32_t SetLanes(const Mask& m) {
  uint32_t bits = 0;
  for (int i = 0; i < 16; ++i) bits |= uint32_t{m.lane[i]} << i;
  return bits;
}

inline Ints AsInts(const Floats& v) { return std::bit_cast<Ints>(v); }
inline Floats AsFloats(const Ints& v) { return std::bit_cast<Floats>(v); }
inline Ints SplatInt(int32_t x) {
  return MapInts([&](int) { return x; });
}
// Wraps modulo 2^32.
inline Ints AddInts(const Ints& a, const Ints& b) {
  return MapInts([&](int i) {
    return static_cast<int32_t>(static_cast<uint32_t>(a.lane[i]) +
                                static_cast<uint32_t>(b.lane[i]));
  });
}
inline Ints AndInts(const Ints& a, const Ints& b) {
  return MapInts([&](int i) { return a.lane[i] & b.lane[i]; });
}
// Arithmetic shift.
template <int kBits>
Ints ShiftRight(const Ints& a) {
  return MapInts([&](int i) { return a.lane[i] >> kBits; });
}
inline Floats ToFloats(const Ints& a) {
  return MapFloats([&](int i) { return static_cast<float>(a.lane[i]); });
}
// Nearest, ties to even; of numbers that fit.
inline Ints RoundToInts(const Floats& a) {
  return MapInts([&](int i) { return static_cast<int32_t>(__builtin_rintf(a.lane[i])); });
}
// The lanes taken as uint32, rounded to nearest even.
inline Floats UnsignedToFloats(const Ints& a) {
  return MapFloats([&](int i) { return static_cast<float>(static_cast<uint32_t>(a.lane[i])); });
}
// p * 2^n for integral n in [-254, 254] and p in [1/2, 2], one rounding (a subnormal result
// included). NaN when p is.
inline Floats ScaleByPowerOfTwo(const Floats& p, const Floats& n) {
  return MapFloats([&](int i) {
    const int exponent = static_cast<int>(std::lrint(n.lane[i]));
    const int half = exponent >> 1;  // p * 2^half is exact
    const float first = std::bit_cast<float>(static_cast<uint32_t>(half + 127) << 23);
    const float second = std::bit_cast<float>(static_cast<uint32_t>(exponent - half + 127) << 23);
    return (p.lane[i] * first) * second;
  });
}

// The final tree of docs/numerics.md: j and j + 8, j + 4, j + 2, j + 1.
inline float SumTree(Floats v) {
  for (int width = 8; width >= 1; width /= 2) {
    for (int i = 0; i < width; ++i) v.lane[i] += v.lane[i + width];
  }
  return v.lane[0];
}
// No lane may be NaN.
inline float MaxTree(Floats v) {
  for (int width = 8; width >= 1; width /= 2) {
    for (int i = 0; i < width; ++i) {
      v.lane[i] = v.lane[i] > v.lane[i + width] ? v.lane[i] : v.lane[i + width];
    }
  }
  return v.lane[0];
}

// Cache elements: f16 widened exactly and rounded to nearest even, f32 as it is, int8 as a number.
inline Floats LoadKv(const uint16_t* p) {
  return MapFloats([&](int i) { return F16ToF32(p[i]); });
}
inline Floats LoadKv(const float* p) { return LoadFloats(p); }
inline Floats LoadKv(const int8_t* p) {
  return MapFloats([&](int i) { return static_cast<float>(p[i]); });
}
inline void StoreKv(uint16_t* p, const Floats& v) {
  for (int i = 0; i < 16; ++i) p[i] = F32ToF16(v.lane[i]);
}
inline void StoreKv(float* p, const Floats& v) { StoreFloats(p, v); }
inline void Prefetch(const void*) {}

// even = elements 0, 2, .. 30 of a ++ b; odd = elements 1, 3, .. 31.
inline void Deinterleave(const Floats& a, const Floats& b, Floats& even, Floats& odd) {
  for (int i = 0; i < 16; ++i) {
    even.lane[i] = i < 8 ? a.lane[2 * i] : b.lane[2 * i - 16];
    odd.lane[i] = i < 8 ? a.lane[2 * i + 1] : b.lane[2 * i - 15];
  }
}
// The inverse.
inline void Interleave(const Floats& even, const Floats& odd, Floats& a, Floats& b) {
  for (int i = 0; i < 16; ++i) {
    a.lane[i] = i % 2 == 0 ? even.lane[i / 2] : odd.lane[i / 2];
    b.lane[i] = i % 2 == 0 ? even.lane[8 + i / 2] : odd.lane[8 + i / 2];
  }
}

// Philox words of the eight counters {block .. block + 7, counter1, counter2, counter3}, in
// order: words[0] holds those of the first four counters, words[1] the others.
inline void PhiloxWords(uint32_t block, uint32_t counter1, uint32_t counter2, uint32_t counter3,
                        uint32_t key0, uint32_t key1, Ints words[2]) {
  for (uint32_t i = 0; i < 8; ++i) {
    const PhiloxCounter out = Philox4x32({block + i, counter1, counter2, counter3}, {key0, key1});
    for (int j = 0; j < 4; ++j) words[i / 4].lane[i % 4 * 4 + j] = static_cast<int32_t>(out[j]);
  }
}

}  // namespace
}  // namespace hunch

#endif  // HUNCH_KERNELS_VEC16_REF_H_

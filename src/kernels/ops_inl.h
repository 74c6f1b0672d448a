// The ops of ops.h other than attention, written once on the Vec16 primitives.
// Include after one vec16_*.h and math_inl.h. A tail of fewer than sixteen elements is loaded with
// +0 in the missing lanes, which changes no sum: partial sums start at +0 and never become -0.
#ifndef HUNCH_KERNELS_OPS_INL_H_
#define HUNCH_KERNELS_OPS_INL_H_

#include "kernels/ops.h"

namespace hunch {
namespace {

void RmsNormImpl(const float* x, const float* w, float eps, int n, float* y) {
  const int whole = n & ~15;
  Floats squares = Splat(0.0f);
  for (int i = 0; i < whole; i += 16) {
    const Floats v = LoadFloats(x + i);
    squares = Fma(v, v, squares);
  }
  if (whole < n) {
    const Floats v = LoadFloats(x + whole, n - whole);
    squares = Fma(v, v, squares);
  }
  const float mean = SumTree(squares) / static_cast<float>(n);
  const Floats r = Splat(1.0f / __builtin_sqrtf(mean + eps));
  for (int i = 0; i < whole; i += 16) {
    StoreFloats(y + i, Mul(Mul(LoadFloats(x + i), r), LoadFloats(w + i)));
  }
  if (whole < n) {
    const int tail = n - whole;
    StoreFloats(y + whole, Mul(Mul(LoadFloats(x + whole, tail), r), LoadFloats(w + whole, tail)),
                tail);
  }
}

VEC16_FN Floats SiluMulLanes(Floats gate, Floats up) {
  const Floats negative = Sub(Splat(0.0f), gate);
  return Mul(Div(gate, Add(Splat(1.0f), ExpLanes(negative))), up);
}
void SiluMulImpl(const float* gate, const float* up, int64_t n, float* y) {
  const int64_t whole = n & ~int64_t{15};
  for (int64_t i = 0; i < whole; i += 16) {
    StoreFloats(y + i, SiluMulLanes(LoadFloats(gate + i), LoadFloats(up + i)));
  }
  if (whole < n) {
    const int tail = static_cast<int>(n - whole);
    StoreFloats(y + whole,
                SiluMulLanes(LoadFloats(gate + whole, tail), LoadFloats(up + whole, tail)), tail);
  }
}

void AddInPlaceImpl(float* x, const float* y, int64_t n) {
  const int64_t whole = n & ~int64_t{15};
  for (int64_t i = 0; i < whole; i += 16) {
    StoreFloats(x + i, Add(LoadFloats(x + i), LoadFloats(y + i)));
  }
  if (whole < n) {
    const int tail = static_cast<int>(n - whole);
    StoreFloats(x + whole, Add(LoadFloats(x + whole, tail), LoadFloats(y + whole, tail)), tail);
  }
}

// Loads or stores up to 32 consecutive floats as two vectors.
VEC16_FN void LoadPair(const float* p, int n, Floats& a, Floats& b) {
  a = n >= 16 ? LoadFloats(p) : LoadFloats(p, n);
  b = n >= 32 ? LoadFloats(p + 16) : n > 16 ? LoadFloats(p + 16, n - 16) : Splat(0.0f);
}
VEC16_FN void StorePair(float* p, int n, Floats a, Floats b) {
  if (n >= 16) {
    StoreFloats(p, a);
  } else {
    StoreFloats(p, a, n);
  }
  if (n >= 32) {
    StoreFloats(p + 16, b);
  } else if (n > 16) {
    StoreFloats(p + 16, b, n - 16);
  }
}
VEC16_FN void RotateLanes(Floats x, Floats y, Floats cos, Floats sin, Floats& rotated_x,
                          Floats& rotated_y) {
  rotated_x = FmaSub(x, cos, Mul(y, sin));
  rotated_y = Fma(x, sin, Mul(y, cos));
}
void RopeImpl(float* x, int heads, int head_dim, int pairs, const float* cos_sin, bool neox) {
  for (int i = 0; i < pairs; i += 16) {
    const int n = pairs - i < 16 ? pairs - i : 16;
    Floats c0, c1, cos, sin;
    LoadPair(cos_sin + 2 * i, 2 * n, c0, c1);
    Deinterleave(c0, c1, cos, sin);
    for (int h = 0; h < heads; ++h) {
      float* head = x + int64_t{h} * head_dim;
      Floats rotated_x, rotated_y;
      if (neox) {
        RotateLanes(LoadFloats(head + i, n), LoadFloats(head + pairs + i, n), cos, sin, rotated_x,
                    rotated_y);
        StoreFloats(head + i, rotated_x, n);
        StoreFloats(head + pairs + i, rotated_y, n);
      } else {
        Floats p0, p1, first, second;
        LoadPair(head + 2 * i, 2 * n, p0, p1);
        Deinterleave(p0, p1, first, second);
        RotateLanes(first, second, cos, sin, rotated_x, rotated_y);
        Interleave(rotated_x, rotated_y, p0, p1);
        StorePair(head + 2 * i, 2 * n, p0, p1);
      }
    }
  }
}

// Calls fn with a (zero) element of the cache's type.
template <typename Fn>
VEC16_FN void WithKvElement(KvType type, Fn fn) {
  switch (type) {
    case KvType::kF16:
      return fn(uint16_t{});
    case KvType::kF32:
      return fn(float{});
    case KvType::kQ8_0:
      return fn(int8_t{});
  }
}
// Whether elements need the scale of their slot.
template <typename Element>
constexpr bool kHasScale = sizeof(Element) == 1;

template <typename Element>
Element* KvHead(void* keys_or_values, const KvLayer& layer, int32_t block, int kv_head) {
  return reinterpret_cast<Element*>(static_cast<char*>(keys_or_values) +
                                    block * layer.block_stride + kv_head * layer.head_stride);
}
// The scales of a head's sixteen slots, after its elements.
VEC16_FN float* KvScales(int8_t* head, int head_dim) {
  return reinterpret_cast<float*>(head + head_dim * kKvBlock);
}
VEC16_FN const float* KvScales(const int8_t* head, int head_dim) {
  return reinterpret_cast<const float*>(head + head_dim * kKvBlock);
}

// The largest magnitude of x[n], n a multiple of 16; NaN when there is one.
float LargestMagnitude(const float* x, int n) {
  uint32_t largest[16] = {};
  for (int i = 0; i < n; i += 16) {
    uint32_t bits[16];
    __builtin_memcpy(bits, x + i, sizeof(bits));
    // Magnitudes compare as integers; a NaN is above every number.
    for (int j = 0; j < 16; ++j) {
      const uint32_t magnitude = bits[j] & 0x7FFFFFFF;
      largest[j] = magnitude > largest[j] ? magnitude : largest[j];
    }
  }
  for (int j = 1; j < 16; ++j) largest[0] = largest[j] > largest[0] ? largest[j] : largest[0];
  float result;
  __builtin_memcpy(&result, largest, sizeof(result));
  return result;
}

// Rounds the values of one head and one position to the cache type; returns their scale.
VEC16_FN float RoundToKv(const float* x, int n, uint16_t* out) {
  for (int i = 0; i < n; i += 16) StoreKv(out + i, LoadFloats(x + i));
  return 1;
}
VEC16_FN float RoundToKv(const float* x, int n, float* out) {
  for (int i = 0; i < n; i += 16) StoreFloats(out + i, LoadFloats(x + i));
  return 1;
}
float RoundToKv(const float* x, int n, int8_t* out) {
  const float largest = LargestMagnitude(x, n);
  const Floats inverse = Splat(largest == 0 ? 0 : 127 / largest);
  for (int i = 0; i < n; i += 16) {
    const Floats scaled = Mul(LoadFloats(x + i), inverse);
    const Floats clamped = Min(Max(scaled, Splat(-127)), Splat(127));
    const Floats number = Select(Equal(scaled, scaled), clamped, Splat(0));  // a NaN becomes 0
    // Added to 1.5 * 2^23, a number is rounded to nearest even and ends in its own int8.
    uint32_t bits[16];
    float biased[16];
    StoreFloats(biased, Add(number, Splat(0x1.8p23f)));
    __builtin_memcpy(bits, biased, sizeof(bits));
    for (int j = 0; j < 16; ++j) out[i + j] = static_cast<int8_t>(bits[j]);
  }
  return largest / 127;
}

// One stage of the rotation of docs/numerics.md: n is a power of two from 16 up.
VEC16_FN void RotateStage(const float* from, int n, float* to) {
  if (n == 16) {
    for (int i = 0; i < 8; ++i) {
      to[i] = from[2 * i] + from[2 * i + 1];
      to[i + 8] = from[2 * i] - from[2 * i + 1];
    }
    return;
  }
  for (int i = 0; i < n / 2; i += 16) {
    Floats even, odd;
    Deinterleave(LoadFloats(from + 2 * i), LoadFloats(from + 2 * i + 16), even, odd);
    StoreFloats(to + i, Add(even, odd));
    StoreFloats(to + i + n / 2, Sub(even, odd));
  }
}
// A head rotated, in parts of the largest power of two that divides head_dim: out[head_dim]. Both
// queries and keys are when keys are int8, so that a key's few large elements share their size with
// all of its part. Rotated twice, a part is `part` times itself; returns 1 / part.
float RotateHead(const float* x, int head_dim, float* out) {
  const int part = head_dim & -head_dim;
  float other[256];
  for (int begin = 0; begin < head_dim; begin += part) {
    float* to = out + begin;
    float* spare = other;
    RotateStage(x + begin, part, to);
    for (int stage = 4; stage <= part; stage *= 2) {
      RotateStage(to, part, spare);
      float* const last = to;
      to = spare;
      spare = last;
    }
    if (to == other) __builtin_memcpy(out + begin, other, part * sizeof(float));
  }
  return 1.0f / static_cast<float>(part);
}

template <typename Element>
void KvStoreTyped(const KvLayer& layer, int32_t block, int slot, const float* k, const float* v) {
  const int dim = layer.head_dim;
  for (int h = 0; h < layer.kv_heads; ++h) {
    Element* keys = KvHead<Element>(layer.k, layer, block, h);
    Element* values = KvHead<Element>(layer.v, layer, block, h);
    const float* key = k + int64_t{h} * dim;
    float rotated[256];
    if constexpr (kHasScale<Element>) {
      RotateHead(key, dim, rotated);
      key = rotated;
    }
    Element rounded[256];
    const float key_scale = RoundToKv(key, dim, rounded);
    for (int d = 0; d < dim; ++d) keys[d * kKvBlock + slot] = rounded[d];
    const float value_scale = RoundToKv(v + int64_t{h} * dim, dim, values + slot * dim);
    if constexpr (kHasScale<Element>) {
      KvScales(keys, dim)[slot] = key_scale;
      KvScales(values, dim)[slot] = value_scale;
    }
  }
}
void KvStoreImpl(const KvLayer& layer, int32_t block, int slot, const float* k, const float* v) {
  WithKvElement(layer.type,
                [&](auto element) { KvStoreTyped<decltype(element)>(layer, block, slot, k, v); });
}

// Exact maximum of x[n]; NaN is skipped; -inf when nothing is left.
VEC16_FN float MaxOf(const float* x, int64_t n) {
  const Floats lowest = Splat(-kInfinity);
  Floats best0 = lowest, best1 = lowest, best2 = lowest, best3 = lowest;
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    best0 = Max(LoadFloats(x + i), best0);
    best1 = Max(LoadFloats(x + i + 16), best1);
    best2 = Max(LoadFloats(x + i + 32), best2);
    best3 = Max(LoadFloats(x + i + 48), best3);
  }
  for (; i + 16 <= n; i += 16) best0 = Max(LoadFloats(x + i), best0);
  float best = MaxTree(Max(Max(best0, best1), Max(best2, best3)));
  for (; i < n; ++i) best = x[i] > best ? x[i] : best;
  return best;
}

int64_t ArgMaxImpl(const float* x, int64_t n) {
  const float best = MaxOf(x, n);
  const Floats wanted = Splat(best);
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const uint32_t found = SetLanes(Equal(LoadFloats(x + i), wanted));
    if (found != 0) return i + __builtin_ctz(found);
  }
  for (; i < n; ++i) {
    if (x[i] == best) return i;
  }
  return 0;  // all NaN
}

MaxSum SoftmaxStatsImpl(const float* x, int64_t n) {
  const float max = MaxOf(x, n);
  const Floats shift = Splat(max);
  Floats sum = Splat(0.0f);
  const int64_t whole = n & ~int64_t{15};
  for (int64_t i = 0; i < whole; i += 16) {
    sum = Add(sum, ExpLanes(Sub(LoadFloats(x + i), shift)));
  }
  if (whole < n) {
    // Missing lanes must add e^-inf = +0, not e^(0 - max).
    float padded[16];
    StoreFloats(padded, Splat(-kInfinity));
    for (int64_t i = whole; i < n; ++i) padded[i - whole] = x[i];
    sum = Add(sum, ExpLanes(Sub(LoadFloats(padded), shift)));
  }
  return {max, SumTree(sum)};
}

#define HUNCH_ROW_OP(name, lanes)                                         \
  void name(const float* x, int64_t n, float* out) {                      \
    const int64_t whole = n & ~int64_t{15};                               \
    for (int64_t i = 0; i < whole; i += 16) {                             \
      StoreFloats(out + i, lanes(LoadFloats(x + i)));                     \
    }                                                                     \
    if (whole < n) {                                                      \
      const int tail = static_cast<int>(n - whole);                       \
      StoreFloats(out + whole, lanes(LoadFloats(x + whole, tail)), tail); \
    }                                                                     \
  }
HUNCH_ROW_OP(ExpRowImpl, ExpLanes)
HUNCH_ROW_OP(LogRowImpl, LogLanes)
HUNCH_ROW_OP(Log1pRowImpl, Log1pLanes)
#undef HUNCH_ROW_OP

// w = (bits + 1/2) 2^-32 with two roundings, below 1; both logarithms have normal arguments.
VEC16_FN Floats GumbelLanes(Ints bits) {
  const Floats w = Fma(UnsignedToFloats(bits), Splat(0x1p-32f), Splat(0x1p-33f));
  const Floats below_one = Min(w, Splat(0x1.fffffep-1f));
  const Floats zero = Splat(0.0f);
  const Floats inner = Log1pNormal(Sub(zero, below_one));
  return Sub(zero, LogNormal(Sub(zero, inner)));
}
void GumbelRowImpl(uint64_t seed, uint32_t choice, uint64_t position, int64_t first, int64_t n,
                   float* out) {
  const uint32_t key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
  const uint32_t low = static_cast<uint32_t>(position);
  const uint32_t high = static_cast<uint32_t>(position >> 32);
  // Thirty-two tokens (eight counters) at a time, from the counter that holds `first`.
  const int64_t end = first + n;
  for (int64_t token = first & ~int64_t{3}; token < end; token += 32) {
    Ints words[2];
    PhiloxWords(static_cast<uint32_t>(token >> 2), choice, low, high, key0, key1, words);
    for (int half = 0; half < 2; ++half) {
      const Floats noise = GumbelLanes(words[half]);
      const int64_t at = token + 16 * half;  // of lane 0
      if (at >= first && at + 16 <= end) {
        StoreFloats(out + (at - first), noise);
        continue;
      }
      float lanes[16];
      StoreFloats(lanes, noise);
      for (int i = 0; i < 16; ++i) {
        if (at + i >= first && at + i < end) out[at + i - first] = lanes[i];
      }
    }
  }
}

}  // namespace
}  // namespace hunch

#endif  // HUNCH_KERNELS_OPS_INL_H_

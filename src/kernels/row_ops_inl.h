// The ops of row_ops.h, written once on the Vec16 primitives. Include after one vec16_*.h,
// math_inl.h and ops_inl.h.
#ifndef HUNCH_KERNELS_ROW_OPS_INL_H_
#define HUNCH_KERNELS_ROW_OPS_INL_H_

#include "kernels/row_ops.h"

namespace hunch {
namespace {

void BlockMaximaImpl(const float* x, int64_t n, float* maxima) {
  const Floats lowest = Splat(-kInfinity);
  for (int64_t i = 0; i < n; i += kLogitBlock) {
    if (n - i < kLogitBlock) {
      *maxima = MaxOf(x + i, n - i);
      return;
    }
    const Floats low = Max(LoadFloats(x + i), Max(LoadFloats(x + i + 16), lowest));
    const Floats high = Max(LoadFloats(x + i + 32), Max(LoadFloats(x + i + 48), lowest));
    *maxima++ = MaxTree(Max(low, high));
  }
}

uint64_t AboveImpl(const float* x, float bound) {
  uint64_t bits = 0;
  for (int i = 0; i < kLogitBlock; i += 16) {
    bits |= uint64_t{SetLanes(Less(Splat(bound), LoadFloats(x + i)))} << i;
  }
  return bits;
}

// floor(v) of 0 <= v < 2^22, as lanes of numbers.
VEC16_FN Floats Floor(Floats v) {
  const Floats magic = Splat(0x1p23f);  // adding it rounds to an integer
  const Floats rounded = Sub(Add(v, magic), magic);
  return Select(Less(v, rounded), Sub(rounded, Splat(1.0f)), rounded);
}
// The integers 0 <= v < 2^22 as int32.
VEC16_FN Ints SmallInts(Floats v) {
  return AndInts(AsInts(Add(v, Splat(0x1p23f))), SplatInt(0x7FFFFF));
}

// A mass has up to 41 bits: 19 above and 22 below, summed apart in int32 lanes. Both splits of the
// fp32 value are exact.
struct MassLanes {
  Ints high = SplatInt(0);
  Ints low = SplatInt(0);
};
VEC16_FN void AddMass(Floats z, MassLanes& sum) {
  const Floats scaled = Mul(ExpLanes(Max(z, Splat(-64.0f))), Splat(0x1p18f));
  const Floats high = Floor(scaled);
  sum.high = AddInts(sum.high, SmallInts(high));
  sum.low = AddInts(sum.low, SmallInts(Floor(Mul(Sub(scaled, high), Splat(0x1p22f)))));
}
uint64_t Total(const MassLanes& sum) {
  float high[16], low[16];  // the bits of int32
  StoreFloats(high, AsFloats(sum.high));
  StoreFloats(low, AsFloats(sum.low));
  uint64_t total = 0;
  for (int i = 0; i < 16; ++i) {
    uint32_t h, l;
    __builtin_memcpy(&h, high + i, sizeof(h));
    __builtin_memcpy(&l, low + i, sizeof(l));
    total += (uint64_t{h} << 22) + l;
  }
  return total;
}

// add(x of sixteen tokens) over all that can have mass, and flush() after every 64 blocks and at
// the end. Blocks whose best token has z < -32 have none.
template <typename Add, typename Flush>
VEC16_FN void ForEachWithMass(const float* x, int64_t n, const float* maxima, float max,
                              float temperature, const Add& add, const Flush& flush) {
  constexpr int kBlocksPerFlush = 64;
  const float least_max = max - 32 * temperature;
  int blocks = 0;
  for (int64_t i = 0; i < n; i += kLogitBlock) {
    if (!(*maxima++ >= least_max)) continue;
    float tail[kLogitBlock];
    const float* block = x + i;
    if (n - i < kLogitBlock) {
      for (int64_t j = 0; j < kLogitBlock; ++j) tail[j] = i + j < n ? block[j] : -kInfinity;
      block = tail;
    }
    for (int j = 0; j < kLogitBlock; j += 16) add(LoadFloats(block + j));
    if (++blocks % kBlocksPerFlush == 0) flush();
  }
  flush();
}

uint64_t MassSumImpl(const float* x, int64_t n, const float* maxima, float max, float temperature) {
  const Floats shift = Splat(max), divisor = Splat(temperature);
  uint64_t total = 0;
  MassLanes sum;  // between two flushes 4 * 64 addends of at most 2^22: below 2^31
  ForEachWithMass(
      x, n, maxima, max, temperature, [&](Floats v) { AddMass(Div(Sub(v, shift), divisor), sum); },
      [&] {
        total += Total(sum);
        sum = MassLanes();
      });
  return total;
}

// About 2.08 times the sum of exp(z). An fp32 number's bits, read as an integer, are 2^23 times its
// logarithm in base 2, but for a mantissa that runs straight between the powers of two; so the
// integer 2^23 (z / ln 2 + 127), read as a number, is exp(z) along those straight lines. Two such
// polygons half an octave apart, the second over sqrt 2, together stay between 2.0606 and 2.0918
// exp(z); one alone would be 6 % wide. 7 instructions for 16 tokens; the exact sum takes 30.
double MassEstimateImpl(const float* x, int64_t n, const float* maxima, float max,
                        float temperature) {
  const Floats slopes = Splat(12102203.2f / temperature);  // 2^23 / ln 2
  const Floats one = Splat(0x1.fcp29f);                    // 2^23 * 127: z = 0
  const Floats least = Splat(0x1p28f);  // exp(-66): of what has no mass, and of NaN
  const Floats shift = Splat(max);
  const Ints half_octave = SplatInt(1 << 22);
  // fp32 sums between two flushes lose nothing that matters.
  Floats first = Splat(0.0f), second = Splat(0.0f);
  double total = 0;
  ForEachWithMass(
      x, n, maxima, max, temperature,
      [&](Floats v) {
        const Ints bits = RoundToInts(Max(Fma(Sub(v, shift), slopes, one), least));
        first = Add(first, AsFloats(bits));
        second = Add(second, AsFloats(AddInts(bits, half_octave)));
      },
      [&] {
        total += static_cast<double>(SumTree(first)) +
                 static_cast<double>(SumTree(second)) * 0.70710678118654752;
        first = second = Splat(0.0f);
      });
  return total;
}

bool GumbelBlockImpl(uint64_t seed, uint32_t choice, uint64_t position, int64_t first,
                     float most_word, float* out) {
  Ints words[4];
  const uint32_t counter = static_cast<uint32_t>(first >> 2);
  for (int half = 0; half < 2; ++half) {
    PhiloxWords(counter + 8 * static_cast<uint32_t>(half), choice, static_cast<uint32_t>(position),
                static_cast<uint32_t>(position >> 32), static_cast<uint32_t>(seed),
                static_cast<uint32_t>(seed >> 32), words + 2 * half);
  }
  const Floats low = Min(UnsignedToFloats(words[0]), UnsignedToFloats(words[1]));
  const Floats high = Min(UnsignedToFloats(words[2]), UnsignedToFloats(words[3]));
  const Floats none = Splat(0.0f);
  if (-MaxTree(Sub(none, Min(low, high))) > most_word) return false;
  for (int i = 0; i < 4; ++i) StoreFloats(out + 16 * i, GumbelLanes(words[i]));
  return true;
}

}  // namespace
}  // namespace hunch

#endif  // HUNCH_KERNELS_ROW_OPS_INL_H_

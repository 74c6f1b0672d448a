// One tile of a linear layer: a few rows of activations on one or two groups of quantised weights,
// folded in the order of docs/numerics.md. See matmul_inl.h for what surrounds it and for `S`.
//
// A tile multiplies `vectors` registers' worth of outputs side by side (the S::kParts parts of a
// group on AVX2 and NEON, two groups on AVX-512), so that one broadcast of four activations feeds
// at least two dot instructions: with one, the load ports are the limit (Zen 5, hot: 360 against
// 420 GMAC/s per core). Weights are unpacked two quads at a time and met by every row at once; that
// keeps few code registers alive, and the integer sums of all rows in the others.
#ifndef HUNCH_KERNELS_MATMUL_FOLD_INL_H_
#define HUNCH_KERNELS_MATMUL_FOLD_INL_H_

#include "kernels/matmul_unpack_inl.h"
#include "kernels/pack_layout.h"

namespace hunch {
namespace {

constexpr int64_t kSpan = 256;  // weights along K between two preparations of the sums

// What a tile prefetches while it works at byte `at` of its groups: the bytes at from + (at >>
// shift) of each group, and group_bytes further once `at` has passed `cross`.
struct Ahead {
  const std::byte* from;  // null: nothing
  int shift;
  int64_t cross;
};

// The weights of one or two groups and one tile of rows.
struct Tile {
  const std::byte* group;
  int64_t group_bytes;
  int64_t k;
  const int8_t* q;
  const float* scale;
  const int16_t* sum;
  const float* f32;
  float* y;
  int64_t ldy;
  int lanes;  // outputs to write
  Ahead ahead;
};

// Where vector v of a tile lies, given vector 0: a part of a group has its own bytes in every 64
// (of codes), 32 (of f16) or 16 (of small scales); a second group has everything group_bytes
// further.
template <typename S>
HUNCH_INLINE const std::byte* VectorAt(const std::byte* first, const Tile& t, int v, int bytes) {
  return first + (S::kParts > 1 ? bytes / S::kParts : t.group_bytes) * v;
}

// This tile's share of what lies ahead, for `bytes` bytes of work at `at`.
template <typename S, int vectors>
HUNCH_INLINE void Prefetch(const Tile& t, int64_t at, int bytes) {
  if (t.ahead.from == nullptr) return;
  constexpr int kGroups = vectors / S::kParts;
  const std::byte* from = t.ahead.from + (at >> t.ahead.shift);
  if (kGroups == 2 && at >= t.ahead.cross) from += t.group_bytes;
#pragma GCC unroll 4
  for (int g = 0; g < kGroups; ++g) {
    for (int line = 0; line < bytes >> t.ahead.shift; line += 64) {
      // To L2: the few line buffers of L1 are the reading's own (Emerald Rapids: 3 % at one row).
      __builtin_prefetch(from + line, 0, 2);
    }
    from += t.group_bytes;
  }
}

// What the fold needs of a row's sums over a span, for 8 blocks of 32 or 16 of 16.
template <int rows>
struct SpanSums {
  alignas(64) int32_t start[rows][16];     // -code_offset * sum: where the integer dot starts
  alignas(64) float min_factor[rows][16];  // float(sum) * a: what multiplies the
                                           // minimum
};

template <typename S, TensorType type>
HUNCH_INLINE void PrepareSums(const int16_t* sum, const float* scale, int blocks, int32_t* start,
                              float* min_factor) {
  constexpr ScaleKind kKind = PackLayoutOf(type).scales;
  constexpr bool kMin = kKind == ScaleKind::kBlockMin || kKind == ScaleKind::kSuper32Min;
  constexpr int kFactor = -S::template CodeOffset<type>();
  if constexpr (kKind == ScaleKind::kSuper16) {
    S::ScaleHalfSums(sum, kFactor, start);
  } else if constexpr (kKind == ScaleKind::kSuper16Min) {
    S::ScaleHalfSums(sum, scale, min_factor);
  } else if (blocks == 8) {
    if constexpr (kMin)
      S::ScaleSums(sum, scale, min_factor);
    else
      S::ScaleSums(sum, kFactor, start);
  } else {
    for (int b = 0; b < blocks; ++b) {
      const int total = sum[2 * b] + sum[2 * b + 1];
      if constexpr (kMin)
        min_factor[b] = static_cast<float>(total) * scale[b];
      else
        start[b] = kFactor * total;
    }
  }
}

// The sums of a tile's rows over a span of `blocks` blocks; k: from row to row.
template <typename S, TensorType type, int rows>
HUNCH_INLINE void PrepareTile(const int16_t* sum, const float* scale, int64_t k, int blocks,
                              SpanSums<rows>& sums) {
  if constexpr (S::template CodeOffset<type>() != 0 ||
                PackLayoutOf(type).scales != ScaleKind::kBlock) {
    for (int64_t r = 0; r < rows; ++r) {
      PrepareSums<S, type>(sum + r * k / 16, scale + r * k / 32, blocks, sums.start[r],
                           sums.min_factor[r]);
    }
  }
}

// A tile's rows at one block. Pointers walk from row to row, because `rows` row pointers would not
// fit the registers.
template <int rows>
struct BlockRows {
  const int8_t* q;     // of row 0
  const float* scale;  // of row 0
  int64_t k;
  const SpanSums<rows>* sums;
};

// The codes of 32 weights as they are packed.
template <typename S, TensorType type>
struct PackedCodes {
  const Tile& t;
  const std::byte* codes;
  template <int quad>
  HUNCH_INLINE typename S::I Quad(int v) const {
    return UnpackQuad<S, type, quad>(VectorAt<S>(codes, t, v, 64));
  }
};

// Adds quads first and second of every row to the partial sums; `step` of `steps`.
template <typename S, TensorType type, int rows, int vectors, int first, int second, int step,
          int steps, typename Codes>
HUNCH_INLINE void AddQuads(const Codes& codes, const BlockRows<rows>& x,
                           typename S::Partial (&partial)[rows][vectors]) {
  typename S::I a[vectors], b[vectors];
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) {
    a[v] = codes.template Quad<first>(v);
    b[v] = codes.template Quad<second>(v);
  }
  const int8_t* q = x.q;
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    const typename S::I qa = S::BroadcastQuad(q + 4 * first);
    const typename S::I qb = S::BroadcastQuad(q + 4 * second);
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      S::template Add<type, step, steps>(partial[r][v], a[v], b[v], qa, qb);
    }
    q += x.k;
  }
  // Without the fence the compiler hoists all broadcasts and then spills (AVX2: 112 against 158
  // GMAC/s).
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) S::template Fence<type>(partial[r][v]);
  }
}

// The contract's fold of one scale group: `at` indexes the sums, d and m hold the scales and
// minima.
template <typename S, TensorType type, bool min, int rows, int vectors>
HUNCH_INLINE void Fold(const BlockRows<rows>& x, int at,
                       const typename S::Partial (&partial)[rows][vectors],
                       const typename S::F (&d)[vectors], const typename S::F (&m)[vectors],
                       typename S::F (&acc)[rows][vectors]) {
  const float* scale = x.scale;
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    const typename S::F a = S::Broadcast(scale);
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      const typename S::I dot = S::template Finish<type>(partial[r][v], &x.sums->start[r][at]);
      acc[r][v] = S::Fma(S::ToFloat(dot), S::Mul(d[v], a), acc[r][v]);
      if constexpr (min) {
        acc[r][v] = S::Fma(m[v], S::Broadcast(&x.sums->min_factor[r][at]), acc[r][v]);
      }
    }
    scale += x.k / 32;
  }
}

template <typename S, TensorType type, int rows, int vectors>
HUNCH_INLINE void BeginSums(const BlockRows<rows>& x, int at,
                            typename S::Partial (&partial)[rows][vectors]) {
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      partial[r][v] = S::template Begin<type>(&x.sums->start[r][at]);
    }
  }
}

// 32 weights with one scale (and perhaps one minimum).
template <typename S, TensorType type, int rows, int vectors, typename Codes>
HUNCH_INLINE void Fold32(const Codes& codes, const BlockRows<rows>& x, int b,
                         const typename S::F (&d)[vectors], const typename S::F (&m)[vectors],
                         typename S::F (&acc)[rows][vectors]) {
  constexpr ScaleKind kKind = PackLayoutOf(type).scales;
  typename S::Partial partial[rows][vectors];
  BeginSums<S, type>(x, b, partial);
  AddQuads<S, type, rows, vectors, 0, 4, 0, 4>(codes, x, partial);
  AddQuads<S, type, rows, vectors, 1, 5, 1, 4>(codes, x, partial);
  AddQuads<S, type, rows, vectors, 2, 6, 2, 4>(codes, x, partial);
  AddQuads<S, type, rows, vectors, 3, 7, 3, 4>(codes, x, partial);
  Fold<S, type, kKind != ScaleKind::kBlock>(x, b, partial, d, m, acc);
}

// Half a block: 16 weights with a scale (and perhaps a minimum) of their own.
template <typename S, TensorType type, int half, int rows, int vectors, typename Codes>
HUNCH_INLINE void Fold16(const Codes& codes, const BlockRows<rows>& x, int b,
                         const typename S::F (&d)[vectors], const typename S::F (&m)[vectors],
                         typename S::F (&acc)[rows][vectors]) {
  constexpr ScaleKind kKind = PackLayoutOf(type).scales;
  constexpr int kFirst = 4 * half;
  typename S::Partial partial[rows][vectors];
  BeginSums<S, type>(x, 2 * b + half, partial);
  AddQuads<S, type, rows, vectors, kFirst, kFirst + 1, 0, 2>(codes, x, partial);
  AddQuads<S, type, rows, vectors, kFirst + 2, kFirst + 3, 1, 2>(codes, x, partial);
  Fold<S, type, kKind == ScaleKind::kSuper16Min>(x, 2 * b + half, partial, d, m, acc);
}

template <typename S, TensorType type, int vectors>
HUNCH_INLINE void LoadScales(const Tile& t, const std::byte* chunk, typename S::F (&d)[vectors],
                             typename S::F (&m)[vectors]) {
  constexpr PackLayout kLayout = PackLayoutOf(type);
  constexpr bool kMin =
      kLayout.scales != ScaleKind::kBlock && kLayout.scales != ScaleKind::kSuper16;
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) {
    const std::byte* halves = VectorAt<S>(chunk + kLayout.scales_at, t, v, 32);
    d[v] = S::LoadF16(halves);
    m[v] = kMin ? S::LoadF16(halves + kGroupHalves) : d[v];
  }
}

// The scales and minima of block b of a super-block, or of half of it where halves have their own;
// d and dmin are the super-block's.
template <typename S, TensorType type, int half, int vectors>
HUNCH_INLINE void SuperScales(const Tile& t, const std::byte* chunk, int b,
                              const typename S::F (&d)[vectors],
                              const typename S::F (&dmin)[vectors], typename S::F (&scale)[vectors],
                              typename S::F (&min)[vectors]) {
  constexpr PackLayout kLayout = PackLayoutOf(type);
  const std::byte* small = chunk + kLayout.small_at + 32 * b;
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) {
    const std::byte* at = VectorAt<S>(small + 16 * half, t, v, 16);
    if constexpr (kLayout.scales == ScaleKind::kSuper32Min) {
      scale[v] = S::Mul(d[v], S::WidenU8(at));
      min[v] = S::Negate(S::Mul(dmin[v], S::WidenU8(VectorAt<S>(small + 16, t, v, 16))));
    } else if constexpr (kLayout.scales == ScaleKind::kSuper16) {
      scale[v] = min[v] = S::Mul(d[v], S::WidenI8(at));
    } else {
      scale[v] = S::Mul(d[v], S::WidenLowNibbles(at));
      min[v] = S::Negate(S::Mul(dmin[v], S::WidenHighNibbles(at)));
    }
  }
}

// Block b of a super-block of 256 whose first byte is `chunk`; d and dmin are the super-block's.
template <typename S, TensorType type, int rows, int vectors>
HUNCH_INLINE void FoldSuperBlock(const Tile& t, const std::byte* chunk, const BlockRows<rows>& x,
                                 int b, const typename S::F (&d)[vectors],
                                 const typename S::F (&dmin)[vectors],
                                 typename S::F (&acc)[rows][vectors]) {
  constexpr PackLayout kLayout = PackLayoutOf(type);
  const PackedCodes<S, type> codes = {t, chunk + kLayout.codes_at + 64 * kLayout.code_bits * b};
  typename S::F scale[vectors], min[vectors];
  SuperScales<S, type, 0>(t, chunk, b, d, dmin, scale, min);
  if constexpr (kLayout.scales == ScaleKind::kSuper32Min) {
    Fold32<S, type>(codes, x, b, scale, min, acc);
  } else {
    Fold16<S, type, 0>(codes, x, b, scale, min, acc);
    SuperScales<S, type, 1>(t, chunk, b, d, dmin, scale, min);
    Fold16<S, type, 1>(codes, x, b, scale, min, acc);
  }
}

// All blocks of one span of K, `at` bytes into the group.
template <typename S, TensorType type, int rows, int vectors>
HUNCH_INLINE void FoldSpan(const Tile& t, int64_t at, int blocks, BlockRows<rows> x,
                           typename S::F (&acc)[rows][vectors]) {
  constexpr PackLayout kLayout = PackLayoutOf(type);
  constexpr int kCodes = 64 * kLayout.code_bits;
  typename S::F d[vectors], m[vectors];
  if constexpr (kLayout.chunk_weights == 256) {
    Prefetch<S, vectors>(t, at, kLayout.codes_at);
    LoadScales<S, type>(t, t.group + at, d, m);
    for (int b = 0; b < 8; ++b) {
      Prefetch<S, vectors>(t, at + kLayout.codes_at + kCodes * b, kCodes);
      FoldSuperBlock<S, type>(t, t.group + at, x, b, d, m, acc);
      x.q += 32;
      ++x.scale;
    }
  } else {
    for (int b = 0; b < blocks; ++b) {
      Prefetch<S, vectors>(t, at, kLayout.chunk_bytes);
      LoadScales<S, type>(t, t.group + at, d, m);
      Fold32<S, type>(PackedCodes<S, type>{t, t.group + at}, x, b, d, m, acc);
      at += kLayout.chunk_bytes;
      x.q += 32;
      ++x.scale;
    }
  }
}

}  // namespace
}  // namespace hunch

#endif  // HUNCH_KERNELS_MATMUL_FOLD_INL_H_

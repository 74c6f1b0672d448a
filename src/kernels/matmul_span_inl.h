// Many rows of activations on one or two groups of weights in super-blocks of 256: each of them is
// unpacked once, into L1, and met by all tiles of rows, whose sums wait in memory from one to the
// next. Unpacking is 30 of a tile's 174 vector instructions per 32 weights of Q4_K, so with three
// tiles or more, in 32 registers of 512 bits, it is worth the stores (decisions/006). The fold is
// the same, so are the bits.
#ifndef HUNCH_KERNELS_MATMUL_SPAN_INL_H_
#define HUNCH_KERNELS_MATMUL_SPAN_INL_H_

#include "kernels/matmul_fold_inl.h"

namespace hunch {
namespace {

constexpr int64_t kMostSpanRows = 132;  // of a panel: 17 KiB of sums beside 12 KiB of weights

// 256 weights along K of the outputs that a tile multiplies.
template <typename S, int vectors>
struct UnpackedSpan {
  static constexpr int kOutputs = 16 / S::kParts * vectors;
  alignas(64) std::byte codes[8][8][vectors][64 / S::kParts];  // [block][quad], as S::Add wants
  alignas(64) float scale[16][kOutputs];                       // of blocks, or of their halves
  alignas(64) float min[16][kOutputs];  // likewise, for types that have minima
};

// Bytes of each group that a tile fetches while it works on a span, `stride` apart.
struct AheadLines {
  const std::byte* from;
  int lines;
  int64_t stride;
};

// A few rows of activations at one span.
struct SpanTile {
  int64_t k;
  const int8_t* q;
  const float* scale;
  const int16_t* sum;
  const float* sums;  // [rows][outputs], of the spans before
  float* to;          // [rows][stride]: where they go, `lanes` of each row
  int64_t stride;
  int lanes;
  AheadLines ahead;
};

// The codes of 32 weights in an UnpackedSpan.
template <typename S, int vectors>
struct UnpackedCodes {
  const std::byte (&quads)[8][vectors][64 / S::kParts];
  template <int quad>
  HUNCH_INLINE typename S::I Quad(int v) const {
    return S::Load(quads[quad][v]);
  }
};

template <typename S, int vectors>
HUNCH_INLINE void StoreFloats(float* to, const typename S::F (&from)[vectors]) {
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) S::Store(to + 16 / S::kParts * v, 16, from[v]);
}

template <typename S, int vectors>
HUNCH_INLINE void LoadFloats(const float* from, typename S::F (&to)[vectors]) {
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) {
    to[v] = S::template LoadPlain<TensorType::kF32>(
        reinterpret_cast<const std::byte*>(from + 16 / S::kParts * v));
  }
}

template <typename S, TensorType type, int vectors, int quad = 0>
HUNCH_INLINE void UnpackBlock(const PackedCodes<S, type>& codes,
                              std::byte (&to)[8][vectors][64 / S::kParts]) {
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) S::StoreCodes(to[quad][v], codes.template Quad<quad>(v));
  if constexpr (quad < 7) UnpackBlock<S, type, vectors, quad + 1>(codes, to);
}

// Unpacks the super-blocks `at` bytes into the groups of `t`.
template <typename S, TensorType type, int vectors>
void UnpackSpan(const Tile& t, int64_t at, UnpackedSpan<S, vectors>& to) {
  constexpr PackLayout kLayout = PackLayoutOf(type);
  constexpr bool kHalves = kLayout.scales != ScaleKind::kSuper32Min;
  const std::byte* chunk = t.group + at;
  typename S::F d[vectors], m[vectors], scale[vectors], min[vectors];
  LoadScales<S, type>(t, chunk, d, m);
  for (int b = 0; b < 8; ++b) {
    UnpackBlock<S, type, vectors>({t, chunk + kLayout.codes_at + 64 * kLayout.code_bits * b},
                                  to.codes[b]);
    SuperScales<S, type, 0>(t, chunk, b, d, m, scale, min);
    StoreFloats<S>(to.scale[kHalves ? 2 * b : b], scale);
    StoreFloats<S>(to.min[kHalves ? 2 * b : b], min);
    if constexpr (kHalves) {
      SuperScales<S, type, 1>(t, chunk, b, d, m, scale, min);
      StoreFloats<S>(to.scale[2 * b + 1], scale);
      StoreFloats<S>(to.min[2 * b + 1], min);
    }
  }
}

// Block b of a span.
template <typename S, TensorType type, int rows, int vectors>
HUNCH_INLINE void FoldUnpacked(const UnpackedSpan<S, vectors>& w, const BlockRows<rows>& x, int b,
                               typename S::F (&acc)[rows][vectors]) {
  constexpr ScaleKind kKind = PackLayoutOf(type).scales;
  const UnpackedCodes<S, vectors> codes = {w.codes[b]};
  typename S::F d[vectors], m[vectors];
  if constexpr (kKind != ScaleKind::kSuper32Min) {
    LoadFloats<S>(w.scale[2 * b], d);
    LoadFloats<S>(w.min[2 * b], m);
    Fold16<S, type, 0>(codes, x, b, d, m, acc);
    LoadFloats<S>(w.scale[2 * b + 1], d);
    LoadFloats<S>(w.min[2 * b + 1], m);
    Fold16<S, type, 1>(codes, x, b, d, m, acc);
  } else {
    LoadFloats<S>(w.scale[b], d);
    LoadFloats<S>(w.min[b], m);
    Fold32<S, type>(codes, x, b, d, m, acc);
  }
}

template <typename S, TensorType type, int rows, int vectors>
void FoldSpanTile(const UnpackedSpan<S, vectors>& w, const SpanTile& t) {
  constexpr int kGroups = vectors / S::kParts;
  constexpr int kOutputs = UnpackedSpan<S, vectors>::kOutputs;
  typename S::F acc[rows][vectors];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) LoadFloats<S>(t.sums + kOutputs * r, acc[r]);
  SpanSums<rows> sums;
  PrepareTile<S, type>(t.sum, t.scale, t.k, 8, sums);
  BlockRows<rows> x = {t.q, t.scale, t.k, &sums};
  for (int b = 0; b < 8; ++b) {
    for (int line = t.ahead.lines * b / 8; line < t.ahead.lines * (b + 1) / 8; ++line) {
#pragma GCC unroll 2
      for (int g = 0; g < kGroups; ++g) {
        __builtin_prefetch(t.ahead.from + 64 * line + g * t.ahead.stride, 0, 2);
      }
    }
    FoldUnpacked<S, type>(w, x, b, acc);
    x.q += 32;
    ++x.scale;
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      constexpr int kLanes = kOutputs / vectors;
      S::Store(t.to + r * t.stride + kLanes * v, t.lanes - kLanes * v, acc[r][v]);
    }
  }
}

// tile[r - 1] multiplies r rows.
template <typename S, TensorType type, int vectors>
struct SpanTiles {
  static constexpr int kMax = S::template MaxTile<type>();
  void (*tile[kMax])(const UnpackedSpan<S, vectors>&, const SpanTile&);
  constexpr SpanTiles() : tile() { Fill<1>(); }
  template <int rows>
  constexpr void Fill() {
    tile[rows - 1] = FoldSpanTile<S, type, rows, vectors>;
    if constexpr (rows < kMax) Fill<rows + 1>();
  }
};

// What tile i of `tiles` fetches: its share of the `bytes` bytes at `from`.
HUNCH_INLINE AheadLines ShareAhead(const std::byte* from, int64_t bytes, int64_t stride, int64_t i,
                                   int64_t tiles) {
  const int64_t lines = (bytes + 63) / 64;
  const int64_t first = lines * i / tiles;
  return {from + 64 * first, static_cast<int>(lines * (i + 1) / tiles - first), stride};
}

// `rows` rows, at most kMostSpanRows, in `tiles` tiles. t: of the first of them; last: no groups
// follow those of t.
template <typename S, TensorType type, int vectors>
void MultiplySpans(const Tile& t, int64_t rows, int64_t tiles, bool last) {
  static constexpr SpanTiles<S, type, vectors> kTiles;
  constexpr int64_t kSpanBytes = PackLayoutOf(type).chunk_bytes;
  constexpr int kOutputs = UnpackedSpan<S, vectors>::kOutputs;
  UnpackedSpan<S, vectors> weights;
  alignas(64) float acc[kMostSpanRows * kOutputs];
  for (int64_t i = 0; i < rows * kOutputs; ++i) acc[i] = 0;

  int64_t at = 0;
  for (int64_t k = 0; k < t.k; k += kSpan, at += kSpanBytes) {
    UnpackSpan<S, type>(t, at, weights);
    // The last sums go to where they belong at once: after all tiles the stores would wait for each
    // other (5 % of a prompt).
    const bool whole = k + kSpan >= t.k;
    // What comes next may be the first of the next groups.
    const int64_t next = whole ? vectors / S::kParts * t.group_bytes : at + kSpanBytes;
    const int64_t bytes = whole && last ? 0 : kSpanBytes;
    for (int64_t i = 0; i < tiles; ++i) {
      const int64_t first = rows * i / tiles;
      const int64_t end = rows * (i + 1) / tiles;
      kTiles.tile[end - first - 1](
          weights, {.k = t.k,
                    .q = t.q + first * t.k + k,
                    .scale = t.scale + (first * t.k + k) / 32,
                    .sum = t.sum + (first * t.k + k) / 16,
                    .sums = acc + kOutputs * first,
                    .to = whole ? t.y + first * t.ldy : acc + kOutputs * first,
                    .stride = whole ? t.ldy : kOutputs,
                    .lanes = whole ? t.lanes : kOutputs,
                    .ahead = ShareAhead(t.group + next, bytes, t.group_bytes, i, tiles)});
    }
  }
}

}  // namespace
}  // namespace hunch

#endif  // HUNCH_KERNELS_MATMUL_SPAN_INL_H_

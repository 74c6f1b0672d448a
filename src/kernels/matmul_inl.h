// The linear layer kernel, once for every SIMD width. An ISA file defines a struct `S` of vector
// primitives (see matmul_avx512.cc) and instantiates MatMulSimd<S>. Everything is in an unnamed
// namespace and uses nothing of the library, so that no code compiled for one instruction set can
// be linked into another machine's path.
//
// Order of work: panels of activation rows that stay in L2, then groups (weights in memory order),
// then tiles of up to S::MaxTile rows (matmul_fold_inl.h); many tiles share what they unpack
// (matmul_span_inl.h).
#ifndef HUNCH_KERNELS_MATMUL_INL_H_
#define HUNCH_KERNELS_MATMUL_INL_H_

#include "kernels/matmul_fold_inl.h"
#include "kernels/matmul_kernels.h"
#include "kernels/matmul_span_inl.h"
#include "kernels/pack_layout.h"

namespace hunch {
namespace {

#if defined(HUNCH_FLIP_SPEED_ONLY)
constexpr bool kFlipSpeedOnly = true;
#else
constexpr bool kFlipSpeedOnly = false;
#endif

constexpr int64_t kPanelBytes = 256 << 10;  // activations of a panel: half of the smallest L2
// Bytes, of all groups that are read side by side: 10 % more GB/s than 3072, 16384 is no better.
constexpr int64_t kPrefetchAhead = 8192;

// Tiles of a panel from which spans are unpacked for all of them: with two, 8 rows take 5 % longer.
constexpr int64_t kUnpackForTiles = 3;

// Whether what is unpacked may be shared (MultiplyPanel).
template <typename S>
constexpr bool kSharesSpans = S::kParts == 1;

template <typename S, int rows, int vectors>
HUNCH_INLINE void Clear(typename S::F (&acc)[rows][vectors]) {
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) acc[r][v] = S::Zero();
  }
}

template <typename S, int rows, int vectors>
HUNCH_INLINE void Store(const Tile& t, const typename S::F (&acc)[rows][vectors]) {
  constexpr int kLanes = 16 / S::kParts;
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      S::Store(t.y + r * t.ldy + kLanes * v, t.lanes - kLanes * v, acc[r][v]);
    }
  }
}

template <typename S, TensorType type, int rows, int vectors>
void QuantisedTile(const Tile& t) {
  constexpr PackLayout kLayout = PackLayoutOf(type);
  typename S::F acc[rows][vectors];
  Clear<S>(acc);
  SpanSums<rows> sums;
  int64_t at = 0;
  for (int64_t k = 0; k < t.k; k += kSpan) {
    const int blocks = t.k - k < kSpan ? static_cast<int>((t.k - k) / 32) : 8;
    PrepareTile<S, type>(t.sum + k / 16, t.scale + k / 32, t.k, blocks, sums);
    const BlockRows<rows> x = {t.q + k, t.scale + k / 32, t.k, &sums};
    FoldSpan<S, type>(t, at, blocks, x, acc);
    at += kLayout.chunk_bytes * (kLayout.chunk_weights == 256 ? 1 : blocks);
  }
  Store<S>(t, acc);
}

// F32, F16 and BF16: one fma per weight and row, ascending K.
template <typename S, TensorType type, int rows, int vectors>
void PlainTile(const Tile& t) {
  constexpr int kStep = PackLayoutOf(type).chunk_bytes;  // one k of 16 rows
  typename S::F acc[rows][vectors];
  Clear<S>(acc);
  for (int64_t k = 0; k < t.k; ++k) {
    Prefetch<S, vectors>(t, kStep * k, kStep);
    typename S::F w[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      w[v] = S::template LoadPlain<type>(VectorAt<S>(t.group + kStep * k, t, v, kStep));
    }
    const float* x = t.f32 + k;
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const typename S::F value = S::Broadcast(x);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) acc[r][v] = S::Fma(w[v], value, acc[r][v]);
      x += t.k;
    }
  }
  Store<S>(t, acc);
}

using TileFn = void (*)(const Tile&);

template <typename S, TensorType type, int rows, int vectors>
constexpr TileFn TileOf() {
  if constexpr (PackLayoutOf(type).scales == ScaleKind::kNone) {
    return PlainTile<S, type, rows, vectors>;
  } else {
    return QuantisedTile<S, type, rows, vectors>;
  }
}

// tile[r - 1] multiplies r rows.
template <typename S, TensorType type, int vectors>
struct Tiles {
  static constexpr int kMax = S::template MaxTile<type>();
  TileFn tile[kMax];
  constexpr Tiles() : tile() { Fill<1>(); }
  template <int rows>
  constexpr void Fill() {
    tile[rows - 1] = TileOf<S, type, rows, vectors>();
    if constexpr (rows < kMax) Fill<rows + 1>();
  }
};

// What tile i of `tiles` on the `groups` groups at `group` prefetches. A single tile reads weights
// from memory and runs kPrefetchAhead in front of itself. When there are more, all but the first
// would find the weights cached and leave the memory idle, so each of them brings a share of the
// next groups instead.
HUNCH_INLINE Ahead PlanAhead(const std::byte* group, int64_t group_bytes, int groups, bool last,
                             int64_t i, int64_t tiles) {
  if (tiles == 1) {
    const int64_t wanted = kPrefetchAhead / groups;
    const int64_t ahead = wanted < group_bytes ? wanted : group_bytes;
    // Past its own end a group would run into its neighbour, which is being read already.
    return {group + ahead, 0, group_bytes - ahead};
  }
  int shift = 1;
  while ((int64_t{2} << shift) <= tiles) ++shift;
  if (last || i >> shift != 0) return {nullptr, 0, 0};
  return {group + groups * group_bytes + (i * group_bytes >> shift), shift, group_bytes};
}

// Rows [begin, begin + rows) of the activations on group g and, when vectors say so, the next.
template <typename S, TensorType type, int vectors>
HUNCH_INLINE void MultiplyPanel(const MatMulArgs& args, int64_t g, int64_t begin, int64_t rows) {
  static constexpr Tiles<S, type, vectors> kTiles;
  constexpr int kMax = Tiles<S, type, vectors>::kMax;
  constexpr int kGroups = vectors / S::kParts;
  constexpr bool kPlain = PackLayoutOf(type).scales == ScaleKind::kNone;
  // Tiles of almost equal size: 9 rows are 5 + 4, not 8 + 1.
  const int64_t tiles = (rows + kMax - 1) / kMax;
  const std::byte* group = args.weights + g * args.group_bytes;
  const bool last = g + kGroups == args.groups;
  const auto tile_at = [&](int64_t first) -> Tile {
    return {.group = group,
            .group_bytes = args.group_bytes,
            .k = args.k,
            .q = kPlain ? nullptr : args.q + first * args.k,
            .scale = kPlain ? nullptr : args.scale + first * args.k / 32,
            .sum = kPlain ? nullptr : args.sum + first * args.k / 16,
            .f32 = kPlain ? args.f32 + first * args.k : nullptr,
            .y = args.y + first * args.ldy + 16 * g,
            .ldy = args.ldy,
            .lanes = 16 * (kGroups - 1) + (last ? args.last_rows : 16),
            .ahead = {}};
  };
  // Not for blocks of 32, which unpack quickly: 16 rows of SmolLM2 took 8 % longer. Nor for
  // narrower vectors, whose tiles overflow the registers: on Zen 3 16 rows took 1.5 times as long.
  if constexpr (PackLayoutOf(type).chunk_weights == 256 && kSharesSpans<S> && vectors > 1) {
    // SPEED ONLY: weights unpacked once for all tiles, or by each.
    if ((tiles >= kUnpackForTiles) != kFlipSpeedOnly) {
      return MultiplySpans<S, type, vectors>(tile_at(begin), rows, tiles, last);
    }
  }
  for (int64_t i = 0; i < tiles; ++i) {
    const int64_t first = begin + rows * i / tiles;
    const int64_t end = begin + rows * (i + 1) / tiles;
    Tile tile = tile_at(first);
    tile.ahead = PlanAhead(group, args.group_bytes, kGroups, last, i, tiles);
    kTiles.tile[end - first - 1](tile);
  }
}

template <typename S, TensorType type>
void MatMulOfType(const MatMulArgs& args) {
  constexpr int kVectors = S::kParts > 1 ? S::kParts : 2;
  constexpr int kMax = S::template MaxTile<type>();
  const int64_t row_bytes = args.k * (PackLayoutOf(type).scales == ScaleKind::kNone ? 4 : 1);
  int64_t panel = kPanelBytes / row_bytes / kMax * kMax;
  if (panel < kMax) panel = kMax;
  if (kSharesSpans<S> && panel > kMostSpanRows) panel = kMostSpanRows / kMax * kMax;
  // Of almost equal size, as tiles are.
  const int64_t panels = (args.m + panel - 1) / panel;
  for (int64_t i = 0; i < panels; ++i) {
    const int64_t begin = args.m * i / panels;
    const int64_t rows = args.m * (i + 1) / panels - begin;
    int64_t g = 0;
    if constexpr (kVectors == S::kParts) {
      for (; g < args.groups; ++g) MultiplyPanel<S, type, kVectors>(args, g, begin, rows);
    } else {
      // SPEED ONLY: the same outputs, one group at a time or two.
      const bool pairs = args.few_rows_in_pairs || rows >= S::template PairGroupsFrom<type>();
      if (pairs != kFlipSpeedOnly) {
        for (; g + 2 <= args.groups; g += 2) MultiplyPanel<S, type, kVectors>(args, g, begin, rows);
      }
      for (; g < args.groups; ++g) MultiplyPanel<S, type, 1>(args, g, begin, rows);
    }
  }
}

template <typename S>
void MatMulSimd(const MatMulArgs& args) {
  switch (args.type) {
    case TensorType::kF32:
      return MatMulOfType<S, TensorType::kF32>(args);
    case TensorType::kF16:
      return MatMulOfType<S, TensorType::kF16>(args);
    case TensorType::kBF16:
      return MatMulOfType<S, TensorType::kBF16>(args);
    case TensorType::kQ4_0:
      return MatMulOfType<S, TensorType::kQ4_0>(args);
    case TensorType::kQ4_1:
      return MatMulOfType<S, TensorType::kQ4_1>(args);
    case TensorType::kQ5_0:
      return MatMulOfType<S, TensorType::kQ5_0>(args);
    case TensorType::kQ5_1:
      return MatMulOfType<S, TensorType::kQ5_1>(args);
    case TensorType::kQ8_0:
      return MatMulOfType<S, TensorType::kQ8_0>(args);
    case TensorType::kIQ4_NL:
      return MatMulOfType<S, TensorType::kIQ4_NL>(args);
    case TensorType::kQ2_K:
      return MatMulOfType<S, TensorType::kQ2_K>(args);
    case TensorType::kQ3_K:
      return MatMulOfType<S, TensorType::kQ3_K>(args);
    case TensorType::kQ4_K:
      return MatMulOfType<S, TensorType::kQ4_K>(args);
    case TensorType::kQ5_K:
      return MatMulOfType<S, TensorType::kQ5_K>(args);
    case TensorType::kQ6_K:
      return MatMulOfType<S, TensorType::kQ6_K>(args);
  }
}

}  // namespace
}  // namespace hunch

#endif  // HUNCH_KERNELS_MATMUL_INL_H_

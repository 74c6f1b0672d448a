// The linear layer kernel, once for every SIMD width. An ISA file defines a struct `S` of vector
// primitives (see matmul_avx512.cc) and instantiates MatMulSimd<S>. Everything is in an unnamed
// namespace and uses nothing of the library, so that no code compiled for one instruction set can
// be linked into another machine's path.
//
// Order of work: panels of activation rows that stay in L2, then groups (weights in memory order),
// then tiles of up to S::kMaxTile rows. Inside a tile a block of 32 x 16 weights is unpacked into
// registers once and multiplied with every row.
#ifndef HUNCH_KERNELS_MATMUL_INL_H_
#define HUNCH_KERNELS_MATMUL_INL_H_

#include <immintrin.h>

#include "kernels/matmul_kernels.h"
#include "kernels/matmul_unpack_inl.h"
#include "kernels/pack_layout.h"

namespace hunch {
namespace {

constexpr int64_t kSpan = 256;              // weights along K between two preparations of the sums
constexpr int64_t kPanelBytes = 256 << 10;  // activations of a panel: half of the smallest L2
constexpr int kPrefetchAhead = 3072;        // bytes

// One group of weights and one tile of rows.
struct Tile {
  const std::byte* group;
  int64_t k;
  const int8_t* q;
  const float* scale;
  const int16_t* sum;
  const float* f32;
  float* y;
  int64_t ldy;
  int lanes;      // outputs to write, 1..16
  bool prefetch;  // the group's first tile of this panel: later ones find it in the cache
};

HUNCH_INLINE void Prefetch(const std::byte* from, int bytes) {
  for (int at = 0; at < bytes; at += 64) {
    _mm_prefetch(reinterpret_cast<const char*>(from + kPrefetchAhead + at), _MM_HINT_T0);
  }
}

// What the fold needs of a row's sums over a span, for 8 blocks of 32 or 16 of 16.
template <int rows>
struct SpanSums {
  alignas(64) int32_t start[rows][16];     // -code_offset * sum: where the integer dot starts
  alignas(64) float min_factor[rows][16];  // float(sum) * a: what multiplies the minimum
};

template <TensorType type, int code_offset>
HUNCH_INLINE void PrepareSums(const int16_t* sum, const float* scale, int blocks, int32_t* start,
                              float* min_factor) {
  constexpr ScaleKind kKind = PackLayoutOf(type).scales;
  constexpr bool kMin = kKind == ScaleKind::kBlockMin || kKind == ScaleKind::kSuper32Min;
  if constexpr (kKind == ScaleKind::kSuper16 || kKind == ScaleKind::kSuper16Min) {
    for (int h = 0; h < 2; ++h) {
      const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(sum + 8 * h));
      const __m256i wide = _mm256_cvtepi16_epi32(half);
      if constexpr (kKind == ScaleKind::kSuper16) {
        const __m256i product = _mm256_mullo_epi32(wide, _mm256_set1_epi32(-code_offset));
        _mm256_store_si256(reinterpret_cast<__m256i*>(start + 8 * h), product);
      } else {
        const __m128 four = _mm_loadu_ps(scale + 4 * h);  // a of blocks 4h.., each for two halves
        const __m256 both = _mm256_permutevar8x32_ps(_mm256_castps128_ps256(four),
                                                     _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
        _mm256_store_ps(min_factor + 8 * h, _mm256_mul_ps(_mm256_cvtepi32_ps(wide), both));
      }
    }
  } else if (blocks == 8) {
    const __m256i pairs = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sum));
    const __m256i total = _mm256_madd_epi16(pairs, _mm256_set1_epi16(kMin ? 1 : -code_offset));
    if constexpr (kMin) {
      _mm256_store_ps(min_factor, _mm256_mul_ps(_mm256_cvtepi32_ps(total), _mm256_loadu_ps(scale)));
    } else {
      _mm256_store_si256(reinterpret_cast<__m256i*>(start), total);
    }
  } else {
    for (int b = 0; b < blocks; ++b) {
      const int total = sum[2 * b] + sum[2 * b + 1];
      if constexpr (kMin)
        min_factor[b] = static_cast<float>(total) * scale[b];
      else
        start[b] = -code_offset * total;
    }
  }
}

// The rows of one tile at one block: pointers walk, because `rows` row pointers would not fit the
// registers.
template <int rows>
struct BlockRows {
  const int8_t* q;     // of row 0
  const float* scale;  // of row 0
  int64_t k;
  const SpanSums<rows>* sums;
};

// 32 weights with one scale (and perhaps one minimum).
template <typename S, TensorType type, int rows>
HUNCH_INLINE void Fold32(const std::byte* codes, int half, typename S::F d, typename S::F m,
                         const BlockRows<rows>& x, int b, typename S::F* acc) {
  constexpr PackLayout kLayout = PackLayoutOf(type);
  constexpr bool kMin =
      kLayout.scales == ScaleKind::kBlockMin || kLayout.scales == ScaleKind::kSuper32Min;
  typename S::I w[8];
  UnpackQuads<S, type, 0>(codes, half, w);
  UnpackQuads<S, type, 4>(codes, half, w + 4);
  const int8_t* q = x.q;
  const float* scale = x.scale;
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    const typename S::I dot = S::template Dot<type, 8>(w, q, &x.sums->start[r][b]);
    acc[r] = S::Fma(S::ToFloat(dot), S::Mul(d, S::Broadcast(scale)), acc[r]);
    if constexpr (kMin) acc[r] = S::Fma(m, S::Broadcast(&x.sums->min_factor[r][b]), acc[r]);
    q += x.k;
    scale += x.k / 32;
  }
}

// One half block: 16 weights with a scale (and perhaps a minimum) of their own.
template <typename S, TensorType type, int rows, int part>
HUNCH_INLINE void Fold16(const std::byte* codes, int half, typename S::F d, typename S::F m,
                         const BlockRows<rows>& x, int b, typename S::F* acc) {
  constexpr bool kMin = PackLayoutOf(type).scales == ScaleKind::kSuper16Min;
  typename S::I w[4];
  UnpackQuads<S, type, 4 * part>(codes, half, w);
  const int8_t* q = x.q + 16 * part;
  const float* scale = x.scale;
  const int at = 2 * b + part;
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    const typename S::I dot = S::template Dot<type, 4>(w, q, &x.sums->start[r][at]);
    acc[r] = S::Fma(S::ToFloat(dot), S::Mul(d, S::Broadcast(scale)), acc[r]);
    if constexpr (kMin) acc[r] = S::Fma(m, S::Broadcast(&x.sums->min_factor[r][at]), acc[r]);
    q += x.k;
    scale += x.k / 32;
  }
}

// One block of 32 weights of a super-block of 256, `chunk` its first byte. d and dmin are the
// super-block's; scales d * sc and dmin * mn are exact.
template <typename S, TensorType type, int rows>
HUNCH_INLINE void FoldSuperBlock(const std::byte* chunk, int half, typename S::F d,
                                 typename S::F dmin, const BlockRows<rows>& x, int b,
                                 typename S::F* acc) {
  constexpr PackLayout kLayout = PackLayoutOf(type);
  constexpr int kLanes = 16 / S::kHalves;
  const std::byte* codes = chunk + kLayout.codes_at + 64 * kLayout.code_bits * b;
  const std::byte* small = chunk + kLayout.small_at + 32 * b + kLanes * half;
  if constexpr (kLayout.scales == ScaleKind::kSuper32Min) {
    const typename S::F scale = S::Mul(d, S::WidenU8(small));
    const typename S::F min = S::Negate(S::Mul(dmin, S::WidenU8(small + 16)));
    Fold32<S, type, rows>(codes, half, scale, min, x, b, acc);
  } else if constexpr (kLayout.scales == ScaleKind::kSuper16) {
    Fold16<S, type, rows, 0>(codes, half, S::Mul(d, S::WidenI8(small)), d, x, b, acc);
    Fold16<S, type, rows, 1>(codes, half, S::Mul(d, S::WidenI8(small + 16)), d, x, b, acc);
  } else {
    Fold16<S, type, rows, 0>(codes, half, S::Mul(d, S::WidenLowNibbles(small)),
                             S::Negate(S::Mul(dmin, S::WidenHighNibbles(small))), x, b, acc);
    Fold16<S, type, rows, 1>(codes, half, S::Mul(d, S::WidenLowNibbles(small + 16)),
                             S::Negate(S::Mul(dmin, S::WidenHighNibbles(small + 16))), x, b, acc);
  }
}

// All blocks of one span for one half of the lanes.
template <typename S, TensorType type, int rows>
HUNCH_INLINE void FoldSpan(const Tile& t, const std::byte* from, int half, int blocks,
                           BlockRows<rows> x, typename S::F* acc_memory) {
  constexpr PackLayout kLayout = PackLayoutOf(type);
  constexpr bool kSuper = kLayout.chunk_weights == 256;
  constexpr int kHalfBytes = kGroupHalves / S::kHalves;  // of the f16 scales of this half's lanes
  typename S::F acc[rows];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) acc[r] = acc_memory[r];
  typename S::F d{}, m{};
  if constexpr (kSuper) {
    const std::byte* halves = from + kLayout.scales_at + kHalfBytes * half;
    d = S::LoadF16(halves);
    if constexpr (kLayout.scales != ScaleKind::kSuper16) m = S::LoadF16(halves + kGroupHalves);
    if (t.prefetch && half == 0) Prefetch(from, kLayout.codes_at);
  }
  for (int b = 0; b < blocks; ++b) {
    if constexpr (kSuper) {
      if (t.prefetch && half == 0) {
        Prefetch(from + kLayout.codes_at + 64 * kLayout.code_bits * b, 64 * kLayout.code_bits);
      }
      FoldSuperBlock<S, type, rows>(from, half, d, m, x, b, acc);
    } else {
      if (t.prefetch && half == 0) Prefetch(from, kLayout.chunk_bytes);
      const std::byte* halves = from + kLayout.scales_at + kHalfBytes * half;
      d = S::LoadF16(halves);
      if constexpr (kLayout.scales == ScaleKind::kBlockMin) m = S::LoadF16(halves + kGroupHalves);
      Fold32<S, type, rows>(from, half, d, m, x, b, acc);
      from += kLayout.chunk_bytes;
    }
    x.q += 32;
    ++x.scale;
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) acc_memory[r] = acc[r];
}

template <typename S, TensorType type, int rows>
void QuantisedTile(const Tile& t) {
  constexpr PackLayout kLayout = PackLayoutOf(type);
  typename S::F acc[S::kHalves][rows];
#pragma GCC unroll 2
  for (int half = 0; half < S::kHalves; ++half) {
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) acc[half][r] = S::Zero();
  }
  SpanSums<rows> sums;
  const std::byte* from = t.group;
  for (int64_t k = 0; k < t.k; k += kSpan) {
    const int blocks = t.k - k < kSpan ? static_cast<int>((t.k - k) / 32) : 8;
    if constexpr (S::template CodeOffset<type>() != 0 || kLayout.scales != ScaleKind::kBlock) {
      for (int64_t r = 0; r < rows; ++r) {
        PrepareSums<type, S::template CodeOffset<type>()>(t.sum + (r * t.k + k) / 16,
                                                          t.scale + (r * t.k + k) / 32, blocks,
                                                          sums.start[r], sums.min_factor[r]);
      }
    }
    const BlockRows<rows> x = {t.q + k, t.scale + k / 32, t.k, &sums};
#pragma GCC unroll 2
    for (int half = 0; half < S::kHalves; ++half) {
      FoldSpan<S, type, rows>(t, from, half, blocks, x, acc[half]);
    }
    from += kLayout.chunk_bytes * (kLayout.chunk_weights == 256 ? 1 : blocks);
  }
  for (int64_t r = 0; r < rows; ++r) {
#pragma GCC unroll 2
    for (int half = 0; half < S::kHalves; ++half) {
      S::Store(t.y + r * t.ldy, half, t.lanes, acc[half][r]);
    }
  }
}

// F32, F16 and BF16: one fma per weight and row, ascending K.
template <typename S, TensorType type, int rows>
void PlainTile(const Tile& t) {
  constexpr int kStep = PackLayoutOf(type).chunk_bytes;  // one k of 16 rows
  typename S::F acc[S::kHalves][rows];
#pragma GCC unroll 2
  for (int half = 0; half < S::kHalves; ++half) {
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) acc[half][r] = S::Zero();
  }
  const std::byte* from = t.group;
  for (int64_t k = 0; k < t.k; ++k) {
    if (t.prefetch) Prefetch(from, kStep);
    const float* x = t.f32 + k;
    typename S::F w[S::kHalves];
#pragma GCC unroll 2
    for (int half = 0; half < S::kHalves; ++half) {
      w[half] = S::template LoadPlain<type>(from + kStep / S::kHalves * half);
    }
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const typename S::F value = S::Broadcast(x);
#pragma GCC unroll 2
      for (int half = 0; half < S::kHalves; ++half) {
        acc[half][r] = S::Fma(w[half], value, acc[half][r]);
      }
      x += t.k;
    }
    from += kStep;
  }
  for (int64_t r = 0; r < rows; ++r) {
#pragma GCC unroll 2
    for (int half = 0; half < S::kHalves; ++half) {
      S::Store(t.y + r * t.ldy, half, t.lanes, acc[half][r]);
    }
  }
}

using TileFn = void (*)(const Tile&);

template <typename S, TensorType type, int rows>
constexpr TileFn TileOf() {
  if constexpr (PackLayoutOf(type).scales == ScaleKind::kNone)
    return PlainTile<S, type, rows>;
  else
    return QuantisedTile<S, type, rows>;
}

// tile[r - 1] multiplies r rows.
template <typename S, TensorType type>
struct Tiles {
  static constexpr int kMax = S::template MaxTile<type>();
  TileFn tile[kMax];
  constexpr Tiles() : tile() { Fill<1>(); }
  template <int rows>
  constexpr void Fill() {
    tile[rows - 1] = TileOf<S, type, rows>();
    if constexpr (rows < kMax) Fill<rows + 1>();
  }
};

template <typename S, TensorType type>
void MatMulOfType(const MatMulArgs& args) {
  static constexpr Tiles<S, type> kTiles;
  constexpr int kMax = Tiles<S, type>::kMax;
  const int64_t row_bytes = args.k * (PackLayoutOf(type).scales == ScaleKind::kNone ? 4 : 1);
  int64_t panel = kPanelBytes / row_bytes / kMax * kMax;
  if (panel < kMax) panel = kMax;
  for (int64_t panel_begin = 0; panel_begin < args.m; panel_begin += panel) {
    const int64_t panel_rows = args.m - panel_begin < panel ? args.m - panel_begin : panel;
    // Tiles of almost equal size: 9 rows are 5 + 4, not 8 + 1.
    const int64_t tiles = (panel_rows + kMax - 1) / kMax;
    for (int64_t g = 0; g < args.groups; ++g) {
      for (int64_t i = 0; i < tiles; ++i) {
        const int64_t begin = panel_begin + panel_rows * i / tiles;
        const int64_t end = panel_begin + panel_rows * (i + 1) / tiles;
        kTiles.tile[end - begin - 1]({.group = args.weights + g * args.group_bytes,
                                      .k = args.k,
                                      .q = args.q + begin * args.k,
                                      .scale = args.scale + begin * args.k / 32,
                                      .sum = args.sum + begin * args.k / 16,
                                      .f32 = args.f32 + begin * args.k,
                                      .y = args.y + begin * args.ldy + 16 * g,
                                      .ldy = args.ldy,
                                      .lanes = g + 1 == args.groups ? args.last_rows : 16,
                                      .prefetch = i == 0});
      }
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

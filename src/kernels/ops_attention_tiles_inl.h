// The two inner loops of attention on the Vec16 primitives: scores of a tile of queries against
// blocks of keys, and the weighted sum of values. Each is a template over the number of queries, so
// that the accumulators of a tile live in registers. Included by ops_attention_inl.h.
#ifndef HUNCH_KERNELS_OPS_ATTENTION_TILES_INL_H_
#define HUNCH_KERNELS_OPS_ATTENTION_TILES_INL_H_

#include "kernels/ops.h"

namespace hunch {
namespace {

// The blocks of the chunk that comes next: their K and V are prefetched while this chunk's are
// read, because a core that computes on one chunk leaves the memory idle otherwise.
struct NextChunk {
  const int32_t* blocks;
  int count;
};

// The largest power of two at most n, at most 8.
constexpr int TileWidth(int n) { return n >= 8 ? 8 : n >= 4 ? 4 : n >= 2 ? 2 : 1; }

template <typename Element>
const Element* KeyBlock(const AttentionArgs& args, int kv_head, int32_t block) {
  return KvHead<Element>(args.layer.k, args.layer, block, kv_head);
}
template <typename Element>
const Element* ValueBlock(const AttentionArgs& args, int kv_head, int32_t block) {
  return KvHead<Element>(args.layer.v, args.layer, block, kv_head);
}

// A sum over the keys of 16 slots as a score: times the keys' scales if they have any, then
// `scale`.
template <typename Element>
VEC16_FN Floats Score(Floats sum, const Element* key_block, int head_dim, float scale) {
  if constexpr (kHasScale<Element>) sum = Mul(sum, LoadFloats(KvScales(key_block, head_dim)));
  return Mul(sum, Splat(scale));
}

// Scaled scores of kQueries queries against kBlocks blocks of keys: scores[query * stride +
// 16 * block + slot]. Each lane sums over d in ascending order. Prefetches the `next` blocks.
template <typename Element, int kQueries, int kBlocks>
VEC16_FN void ScoreTile(const float* packed_q, const Element* const* keys,
                        const Element* const* next, int head_dim, float scale, float* scores,
                        int stride) {
  constexpr int kStep = 64 / sizeof(Element) / kKvBlock;  // of d, in one cache line
  const Element* key[kBlocks];
  Floats sum[kQueries][kBlocks];
  for (int b = 0; b < kBlocks; ++b) key[b] = keys[b];
  for (int t = 0; t < kQueries; ++t) {
    for (int b = 0; b < kBlocks; ++b) sum[t][b] = Splat(0.0f);
  }
  if constexpr (kHasScale<Element>) {
    for (int b = 0; b < kBlocks; ++b) Prefetch(KvScales(next[b], head_dim));
  }
  for (int line = 0; line < head_dim; line += kStep) {
    for (int b = 0; b < kBlocks; ++b) Prefetch(next[b] + line * kKvBlock);
    for (int d = line; d < line + kStep; ++d) {
      Floats q[kQueries];
      for (int t = 0; t < kQueries; ++t) q[t] = Splat(packed_q[d * kQueries + t]);
      for (int b = 0; b < kBlocks; ++b) {
        const Floats k = LoadKv(key[b] + d * kKvBlock);
        for (int t = 0; t < kQueries; ++t) sum[t][b] = Fma(q[t], k, sum[t][b]);
      }
    }
  }
  for (int t = 0; t < kQueries; ++t) {
    for (int b = 0; b < kBlocks; ++b) {
      StoreFloats(scores + t * stride + b * kKvBlock, Score(sum[t][b], keys[b], head_dim, scale));
    }
  }
}

// Blocks [b, blocks) of the list, kWidth at a time; returns the first that is left.
template <typename Element, int kQueries, int kWidth>
VEC16_FN int ScoreGroups(const AttentionArgs& args, int kv_head, const int32_t* list, int b,
                         int blocks, const NextChunk& next, const float* packed_q, float* scores,
                         int stride) {
  const Element* keys[kWidth];
  const Element* next_keys[kWidth];
  for (; b + kWidth <= blocks; b += kWidth) {
    for (int i = 0; i < kWidth; ++i) {
      const int at = b + i;
      keys[i] = KeyBlock<Element>(args, kv_head, list[at]);
      next_keys[i] = at < next.count ? KeyBlock<Element>(args, kv_head, next.blocks[at]) : keys[i];
    }
    ScoreTile<Element, kQueries, kWidth>(packed_q, keys, next_keys, args.layer.head_dim, args.scale,
                                         scores + b * kKvBlock, stride);
  }
  return b;
}

// The first `blocks` blocks of the list, for every query of the tile.
template <typename Element, int kQueries>
void ScoreBlocks(const AttentionArgs& args, int kv_head, const int32_t* list, int blocks,
                 const NextChunk& next, const float* packed_q, float* scores, int stride) {
  constexpr int kWidth = TileWidth(kTileRegisters / kQueries);
  const int b = ScoreGroups<Element, kQueries, kWidth>(args, kv_head, list, 0, blocks, next,
                                                       packed_q, scores, stride);
  ScoreGroups<Element, kQueries, 1>(args, kv_head, list, b, blocks, next, packed_q, scores, stride);
}

// Where the values of positions [begin, end) of a chunk lie, and what to prefetch meanwhile.
struct ValueSpan {
  const void* const* row;   // [end]
  const void* const* next;  // [end]
  int begin, end;
};

// o[query][d] += e[query][p] * v[p][d] for ascending p, sixteen * kWidth values of d at a time.
template <typename Element, int kQueries, int kWidth>
VEC16_FN void ValueTile(const ValueSpan& span, int d, const float* e, float* o, int o_stride) {
  constexpr int kLine = 64 / sizeof(Element);
  Floats sum[kQueries][kWidth];
  for (int t = 0; t < kQueries; ++t) {
    for (int i = 0; i < kWidth; ++i) sum[t][i] = LoadFloats(o + t * o_stride + d + 16 * i);
  }
  for (int p = span.begin; p < span.end; ++p) {
    const Element* row = static_cast<const Element*>(span.row[p]) + d;
    const Element* next = static_cast<const Element*>(span.next[p]) + d;
    for (int i = 0; i < 16 * kWidth; i += kLine) Prefetch(next + i);
    Floats v[kWidth];
    for (int i = 0; i < kWidth; ++i) v[i] = LoadKv(row + 16 * i);
    for (int t = 0; t < kQueries; ++t) {
      const Floats weight = Splat(e[t * kAttentionChunk + p]);
      for (int i = 0; i < kWidth; ++i) sum[t][i] = Fma(weight, v[i], sum[t][i]);
    }
  }
  for (int t = 0; t < kQueries; ++t) {
    for (int i = 0; i < kWidth; ++i) StoreFloats(o + t * o_stride + d + 16 * i, sum[t][i]);
  }
}

template <typename Element, int kQueries, int kWidth>
VEC16_FN void ValueColumns(const ValueSpan& span, int d, int head_dim, const float* e, float* o,
                           int o_stride) {
  for (; d + 16 * kWidth <= head_dim; d += 16 * kWidth) {
    ValueTile<Element, kQueries, kWidth>(span, d, e, o, o_stride);
  }
  if constexpr (kWidth > 1) {
    ValueColumns<Element, kQueries, kWidth / 2>(span, d, head_dim, e, o, o_stride);
  }
}

template <typename Element, int kQueries>
void ValueRows(const ValueSpan& span, int head_dim, const float* e, float* o, int o_stride) {
  ValueColumns<Element, kQueries, TileWidth(kTileRegisters / kQueries)>(span, 0, head_dim, e, o,
                                                                        o_stride);
}

// The two loops for a number of queries known at run time.
template <typename Element, int kQueries = 1>
void ScoreAny(int queries, const AttentionArgs& args, int kv_head, const int32_t* list, int blocks,
              const NextChunk& next, const float* packed_q, float* scores, int stride) {
  if constexpr (kQueries <= kMaxQueryTile) {
    if (queries == kQueries) {
      ScoreBlocks<Element, kQueries>(args, kv_head, list, blocks, next, packed_q, scores, stride);
    } else {
      ScoreAny<Element, kQueries + 1>(queries, args, kv_head, list, blocks, next, packed_q, scores,
                                      stride);
    }
  }
}
template <typename Element, int kQueries = 1>
void ValueAny(int queries, const ValueSpan& span, int head_dim, const float* e, float* o,
              int o_stride) {
  if constexpr (kQueries <= kMaxQueryTile) {
    if (queries == kQueries) {
      ValueRows<Element, kQueries>(span, head_dim, e, o, o_stride);
    } else {
      ValueAny<Element, kQueries + 1>(queries, span, head_dim, e, o, o_stride);
    }
  }
}

}  // namespace
}  // namespace hunch

#endif  // HUNCH_KERNELS_OPS_ATTENTION_TILES_INL_H_

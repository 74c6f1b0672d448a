// Attention over the paged cache, written once on the Vec16 primitives (docs/numerics.md,
// Attention).
//
// A *query* is one query head of one row. The queries that share a KV head are handled in tiles of
// up to kMaxQueryTile, so that a K or V element is loaded and widened once for all of them; the
// rows of a block go through a chunk of 256 positions one tile after the other while the chunk's
// K and V are in the cache. What a lane or a query computes never depends on its neighbours.
// Include after one vec16_*.h, math_inl.h and ops_inl.h. No allocation; scratch is the caller's.
#ifndef HUNCH_KERNELS_OPS_ATTENTION_INL_H_
#define HUNCH_KERNELS_OPS_ATTENTION_INL_H_

#include "kernels/ops.h"

namespace hunch {
namespace {

// What a tile of queries needs while it looks at one chunk. Carved from the caller's scratch.
struct TileScratch {
  float* scores;           // [kAttentionTile][kAttentionChunk], then e = exp(score - m) in place
  float* block_scores;     // [kAttentionTile][kKvBlock]
  float* packed_q;         // [head_dim][queries of the tile]
  const void** value_row;  // [kAttentionChunk]
};

// A tile's query, and its share of the chunk.
struct Query {
  int row;
  int head;        // query head
  int contiguous;  // positions of the chunk below the row's `contiguous`
  int count;       // all positions of the chunk that the row sees
};

constexpr int MinInt(int a, int b) { return a < b ? a : b; }
constexpr int MaxInt(int a, int b) { return a > b ? a : b; }
// The largest power of two at most n, at most 8.
constexpr int TileWidth(int n) { return n >= 8 ? 8 : n >= 4 ? 4 : n >= 2 ? 2 : 1; }

int RowPositions(const RowView& view) { return view.contiguous + view.extras; }

template <typename Element>
const Element* KeyBlock(const AttentionArgs& args, int kv_head, int32_t block) {
  return static_cast<const Element*>(args.layer.k) + block * args.layer.block_stride +
         int64_t{kv_head} * args.layer.head_dim * kKvBlock;
}
template <typename Element>
const Element* ValueRow(const AttentionArgs& args, int kv_head, int32_t slot) {
  const int32_t block = args.blocks[slot / kKvBlock];
  return static_cast<const Element*>(args.layer.v) + block * args.layer.block_stride +
         (int64_t{kv_head} * kKvBlock + slot % kKvBlock) * args.layer.head_dim;
}

// Scaled scores of kQueries queries against kBlocks blocks of keys: scores[query * stride +
// 16 * block + slot]. Each lane sums over d in ascending order.
template <typename Element, int kQueries, int kBlocks>
VEC16_FN void ScoreTile(const float* packed_q, const Element* const* keys, int head_dim,
                        float scale, float* scores, int stride) {
  const Element* key[kBlocks];
  Floats sum[kQueries][kBlocks];
  for (int b = 0; b < kBlocks; ++b) key[b] = keys[b];
  for (int t = 0; t < kQueries; ++t) {
    for (int b = 0; b < kBlocks; ++b) sum[t][b] = Splat(0.0f);
  }
  for (int d = 0; d < head_dim; ++d) {
    Floats q[kQueries];
    for (int t = 0; t < kQueries; ++t) q[t] = Splat(packed_q[d * kQueries + t]);
    for (int b = 0; b < kBlocks; ++b) {
      const Floats k = LoadKv(key[b] + d * kKvBlock);
      for (int t = 0; t < kQueries; ++t) sum[t][b] = Fma(q[t], k, sum[t][b]);
    }
  }
  for (int t = 0; t < kQueries; ++t) {
    for (int b = 0; b < kBlocks; ++b) {
      StoreFloats(scores + t * stride + b * kKvBlock, Mul(sum[t][b], Splat(scale)));
    }
  }
}

// The first `blocks` blocks of the block list, for every query of the tile.
template <typename Element, int kQueries>
void ScoreBlocks(const AttentionArgs& args, int kv_head, const int32_t* list, int blocks,
                 const float* packed_q, float* scores, int stride) {
  constexpr int kWidth = TileWidth(kTileRegisters / kQueries);
  const Element* keys[kWidth];
  const int head_dim = args.layer.head_dim;
  int b = 0;
  for (; b + kWidth <= blocks; b += kWidth) {
    for (int i = 0; i < kWidth; ++i) keys[i] = KeyBlock<Element>(args, kv_head, list[b + i]);
    ScoreTile<Element, kQueries, kWidth>(packed_q, keys, head_dim, args.scale,
                                         scores + b * kKvBlock, stride);
  }
  for (; b < blocks; ++b) {
    keys[0] = KeyBlock<Element>(args, kv_head, list[b]);
    ScoreTile<Element, kQueries, 1>(packed_q, keys, head_dim, args.scale, scores + b * kKvBlock,
                                    stride);
  }
}

// o[query][d] += e[query][p] * v[p][d] for ascending p, sixteen * kWidth values of d at a time.
template <typename Element, int kQueries, int kWidth>
VEC16_FN void ValueTile(const void* const* value_row, int begin, int end, int d, const float* e,
                        float* o, int o_stride) {
  Floats sum[kQueries][kWidth];
  for (int t = 0; t < kQueries; ++t) {
    for (int i = 0; i < kWidth; ++i) sum[t][i] = LoadFloats(o + t * o_stride + d + 16 * i);
  }
  for (int p = begin; p < end; ++p) {
    const Element* row = static_cast<const Element*>(value_row[p]) + d;
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
VEC16_FN void ValueColumns(const void* const* value_row, int begin, int end, int d, int head_dim,
                           const float* e, float* o, int o_stride) {
  for (; d + 16 * kWidth <= head_dim; d += 16 * kWidth) {
    ValueTile<Element, kQueries, kWidth>(value_row, begin, end, d, e, o, o_stride);
  }
  if constexpr (kWidth > 1) {
    ValueColumns<Element, kQueries, kWidth / 2>(value_row, begin, end, d, head_dim, e, o, o_stride);
  }
}

template <typename Element, int kQueries>
void ValueRows(const void* const* value_row, int begin, int end, int head_dim, const float* e,
               float* o, int o_stride) {
  ValueColumns<Element, kQueries, TileWidth(kTileRegisters / kQueries)>(value_row, begin, end, 0,
                                                                        head_dim, e, o, o_stride);
}

// The two loops for a number of queries known at run time.
template <typename Element, int kQueries = 1>
void ScoreAny(int queries, const AttentionArgs& args, int kv_head, const int32_t* list, int blocks,
              const float* packed_q, float* scores, int stride) {
  if constexpr (kQueries <= kMaxQueryTile) {
    if (queries == kQueries) {
      ScoreBlocks<Element, kQueries>(args, kv_head, list, blocks, packed_q, scores, stride);
    } else {
      ScoreAny<Element, kQueries + 1>(queries, args, kv_head, list, blocks, packed_q, scores,
                                      stride);
    }
  }
}
template <typename Element, int kQueries = 1>
void ValueAny(int queries, const void* const* value_row, int begin, int end, int head_dim,
              const float* e, float* o, int o_stride) {
  if constexpr (kQueries <= kMaxQueryTile) {
    if (queries == kQueries) {
      ValueRows<Element, kQueries>(value_row, begin, end, head_dim, e, o, o_stride);
    } else {
      ValueAny<Element, kQueries + 1>(queries, value_row, begin, end, head_dim, e, o, o_stride);
    }
  }
}

// packed_q[d][query] of `queries` queries.
void PackQueries(const AttentionArgs& args, const Query* query, int queries, float* packed_q) {
  const int head_dim = args.layer.head_dim;
  for (int t = 0; t < queries; ++t) {
    const float* q = args.q + (int64_t{query[t].row} * args.heads + query[t].head) * head_dim;
    for (int d = 0; d < head_dim; ++d) packed_q[d * queries + t] = q[d];
  }
}

// scores[count] becomes e = exp(score - m); returns m and the sum of e by index mod 16.
MaxSum SoftmaxInPlace(float* scores, int count) {
  const float max = MaxOf(scores, count);
  for (int p = count; p % 16 != 0; ++p) scores[p] = -kInfinity;  // e = 0
  const Floats shift = Splat(max);
  Floats sum = Splat(0.0f);
  for (int p = 0; p < count; p += 16) {
    const Floats e = ExpLanes(Sub(LoadFloats(scores + p), shift));
    StoreFloats(scores + p, e);
    sum = Add(sum, e);
  }
  return {max, SumTree(sum)};
}

// The queries from `begin` that belong to one row.
int RunOfRow(const Query* query, int begin, int queries) {
  int end = begin + 1;
  while (end < queries && query[end].row == query[begin].row) ++end;
  return end - begin;
}

// Scores of the slots that follow the contiguous part, for the queries of one row.
template <typename Element>
void ScoreExtras(const AttentionArgs& args, int kv_head, const Query* query, int queries,
                 int chunk_begin, float* packed_q, float* block_scores, float* scores) {
  const RowView& view = args.views[query->row];
  int32_t scored = -1;  // the block whose scores are in block_scores
  PackQueries(args, query, queries, packed_q);
  for (int p = query->contiguous; p < query->count; ++p) {
    const int32_t slot = view.extra[chunk_begin + p - view.contiguous];
    const int32_t block = args.blocks[slot / kKvBlock];
    if (block != scored) {
      ScoreAny<Element>(queries, args, kv_head, &block, 1, packed_q, block_scores, kKvBlock);
      scored = block;
    }
    for (int t = 0; t < queries; ++t) {
      scores[t * kAttentionChunk + p] = block_scores[t * kKvBlock + slot % kKvBlock];
    }
  }
}

// One chunk for one tile of queries. partial[query * partial_stride] receives o[head_dim], m, l;
// queries that see nothing of the chunk receive nothing.
template <typename Element>
void TileChunk(const AttentionArgs& args, int kv_head, Query* query, int queries, int chunk,
               const TileScratch& scratch, float* partial, int64_t partial_stride) {
  const int head_dim = args.layer.head_dim;
  const int begin = chunk * kAttentionChunk;
  int most = 0, common = kAttentionChunk;
  for (int t = 0; t < queries; ++t) {
    const RowView& view = args.views[query[t].row];
    query[t].contiguous = MaxInt(0, MinInt(view.contiguous - begin, kAttentionChunk));
    query[t].count = MaxInt(0, MinInt(RowPositions(view) - begin, kAttentionChunk));
    most = MaxInt(most, query[t].contiguous);
    common = MinInt(common, query[t].contiguous);
  }
  PackQueries(args, query, queries, scratch.packed_q);
  ScoreAny<Element>(queries, args, kv_head, args.blocks + begin / kKvBlock,
                    (most + kKvBlock - 1) / kKvBlock, scratch.packed_q, scratch.scores,
                    kAttentionChunk);
  for (int t = 0; t < queries; t += RunOfRow(query, t, queries)) {
    if (query[t].count == query[t].contiguous) continue;
    ScoreExtras<Element>(args, kv_head, query + t, RunOfRow(query, t, queries), begin,
                         scratch.packed_q, scratch.block_scores,
                         scratch.scores + t * kAttentionChunk);
  }
  for (int t = 0; t < queries; ++t) {
    if (query[t].count == 0) continue;
    const MaxSum stats = SoftmaxInPlace(scratch.scores + t * kAttentionChunk, query[t].count);
    float* out = partial + t * partial_stride;
    for (int d = 0; d < head_dim; d += 16) StoreFloats(out + d, Splat(0.0f));
    out[head_dim] = stats.max;
    out[head_dim + 1] = stats.sum;
  }
  for (int p = 0; p < common; ++p) {
    scratch.value_row[p] = ValueRow<Element>(args, kv_head, begin + p);
  }
  if (common > 0) {
    ValueAny<Element>(queries, scratch.value_row, 0, common, head_dim, scratch.scores, partial,
                      static_cast<int>(partial_stride));
  }
  // What only some rows see: a branch of the tree, or the end of a longer row.
  for (int t = 0; t < queries; t += RunOfRow(query, t, queries)) {
    if (query[t].count == common) continue;
    const RowView& view = args.views[query[t].row];
    for (int p = common; p < query[t].count; ++p) {
      const int32_t slot =
          p < query[t].contiguous ? begin + p : view.extra[begin + p - view.contiguous];
      scratch.value_row[p] = ValueRow<Element>(args, kv_head, slot);
    }
    ValueAny<Element>(RunOfRow(query, t, queries), scratch.value_row, common, query[t].count,
                      head_dim, scratch.scores + t * kAttentionChunk, partial + t * partial_stride,
                      static_cast<int>(partial_stride));
  }
}

// Folds a later chunk's partial into the running one (both o[head_dim], m, l).
void MergePartial(float* running, const float* partial, int head_dim) {
  const float old_max = running[head_dim], new_max = partial[head_dim];
  const float max = old_max > new_max ? old_max : new_max;
  float shifts[16] = {old_max - max, new_max - max};
  StoreFloats(shifts, ExpLanes(LoadFloats(shifts)));
  const Floats a = Splat(shifts[0]), b = Splat(shifts[1]);
  for (int d = 0; d < head_dim; d += 16) {
    StoreFloats(running + d, Fma(LoadFloats(partial + d), b, Mul(LoadFloats(running + d), a)));
  }
  running[head_dim] = max;
  running[head_dim + 1] =
      __builtin_fmaf(partial[head_dim + 1], shifts[1], running[head_dim + 1] * shifts[0]);
}

void WriteResult(const float* running, int head_dim, float* out) {
  const Floats sum = Splat(running[head_dim + 1]);
  for (int d = 0; d < head_dim; d += 16) {
    StoreFloats(out + d, Div(LoadFloats(running + d), sum));
  }
}

float* CarveTile(void* scratch, int head_dim, TileScratch& tile) {
  float* next = static_cast<float*>(scratch);
  tile.scores = next;
  next += kAttentionTile * kAttentionChunk;
  tile.block_scores = next;
  next += kAttentionTile * kKvBlock;
  tile.packed_q = next;
  next += kAttentionTile * head_dim;
  tile.value_row = reinterpret_cast<const void**>(next);
  return next + kAttentionChunk * sizeof(void*) / sizeof(float);
}

void SetQuery(const AttentionArgs& args, int kv_head, int row_begin, int index, Query& query) {
  const int group = args.heads / args.layer.kv_heads;
  query.row = row_begin + index / group;
  query.head = kv_head * group + index % group;
}

int ChunksOf(const AttentionArgs& args, int row) {
  return (RowPositions(args.views[row]) + kAttentionChunk - 1) / kAttentionChunk;
}

// Calls fn(first query, queries) over balanced tiles of all queries: 9 become 5 + 4, not 8 + 1.
template <typename Fn>
VEC16_FN void ForEachTile(int queries, Fn fn) {
  const int tiles = (queries + kMaxQueryTile - 1) / kMaxQueryTile;
  for (int i = 0; i < tiles; ++i) {
    const int begin = queries * i / tiles;
    fn(begin, queries * (i + 1) / tiles - begin);
  }
}

template <typename Element>
void AttentionRowBlock(const AttentionArgs& args, int kv_head, int row_begin, int row_end,
                       void* memory) {
  const int head_dim = args.layer.head_dim;
  const int64_t stride = head_dim + kAttentionPartialPad;
  TileScratch scratch;
  float* partial = CarveTile(memory, head_dim, scratch);
  float* running = partial + kAttentionTile * stride;  // [queries][stride]
  const int queries = (row_end - row_begin) * (args.heads / args.layer.kv_heads);
  int chunks = 0;
  for (int row = row_begin; row < row_end; ++row) chunks = MaxInt(chunks, ChunksOf(args, row));
  for (int chunk = 0; chunk < chunks; ++chunk) {
    ForEachTile(queries, [&](int first, int count) {
      Query query[kMaxQueryTile];
      for (int t = 0; t < count; ++t) SetQuery(args, kv_head, row_begin, first + t, query[t]);
      float* out = chunk == 0 ? running + first * stride : partial;
      TileChunk<Element>(args, kv_head, query, count, chunk, scratch, out, stride);
      if (chunk == 0) return;
      for (int t = 0; t < count; ++t) {
        if (query[t].count == 0) continue;
        MergePartial(running + (first + t) * stride, partial + t * stride, head_dim);
      }
    });
  }
  for (int i = 0; i < queries; ++i) {
    Query query;
    SetQuery(args, kv_head, row_begin, i, query);
    WriteResult(running + i * stride, head_dim,
                args.out + (int64_t{query.row} * args.heads + query.head) * head_dim);
  }
}

void AttentionImpl(const AttentionArgs& args, int kv_head, int row_begin, int row_end,
                   void* scratch) {
  for (int row = row_begin; row < row_end; row += kAttentionRowBlock) {
    const int end = MinInt(row + kAttentionRowBlock, row_end);
    if (args.layer.type == KvType::kF16) {
      AttentionRowBlock<uint16_t>(args, kv_head, row, end, scratch);
    } else {
      AttentionRowBlock<float>(args, kv_head, row, end, scratch);
    }
  }
}

template <typename Element>
void PartialsTyped(const AttentionArgs& args, int kv_head, int row_begin, int row_end,
                   int chunk_begin, int chunk_end, float* partials, void* memory) {
  const int group = args.heads / args.layer.kv_heads;
  const int64_t stride = args.layer.head_dim + kAttentionPartialPad;
  const int queries = (row_end - row_begin) * group;
  TileScratch scratch;
  CarveTile(memory, args.layer.head_dim, scratch);
  for (int chunk = chunk_begin; chunk < chunk_end; ++chunk) {
    // partials[chunk][kv head][row][head in group]: a tile's queries lie side by side.
    float* base =
        partials +
        ((int64_t{chunk} * args.layer.kv_heads + kv_head) * args.rows + row_begin) * group * stride;
    ForEachTile(queries, [&](int first, int count) {
      Query query[kMaxQueryTile];
      for (int t = 0; t < count; ++t) SetQuery(args, kv_head, row_begin, first + t, query[t]);
      TileChunk<Element>(args, kv_head, query, count, chunk, scratch, base + first * stride,
                         stride);
    });
  }
}

void AttentionPartialsImpl(const AttentionArgs& args, int kv_head, int row_begin, int row_end,
                           int chunk_begin, int chunk_end, float* partials, void* scratch) {
  if (args.layer.type == KvType::kF16) {
    PartialsTyped<uint16_t>(args, kv_head, row_begin, row_end, chunk_begin, chunk_end, partials,
                            scratch);
  } else {
    PartialsTyped<float>(args, kv_head, row_begin, row_end, chunk_begin, chunk_end, partials,
                         scratch);
  }
}

void AttentionMergeImpl(const AttentionArgs& args, int kv_head, int row_begin, int row_end,
                        float* partials) {
  const int head_dim = args.layer.head_dim;
  const int group = args.heads / args.layer.kv_heads;
  const int64_t stride = head_dim + kAttentionPartialPad;
  const int64_t chunk_stride = int64_t{args.layer.kv_heads} * args.rows * group * stride;
  for (int row = row_begin; row < row_end; ++row) {
    for (int h = 0; h < group; ++h) {
      float* first = partials + ((int64_t{kv_head} * args.rows + row) * group + h) * stride;
      for (int chunk = 1; chunk < ChunksOf(args, row); ++chunk) {
        MergePartial(first, first + chunk * chunk_stride, head_dim);
      }
      WriteResult(first, head_dim,
                  args.out + (int64_t{row} * args.heads + kv_head * group + h) * head_dim);
    }
  }
}

}  // namespace
}  // namespace hunch

#endif  // HUNCH_KERNELS_OPS_ATTENTION_INL_H_

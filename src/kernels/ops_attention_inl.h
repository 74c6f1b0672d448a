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
#include "kernels/ops_attention_tiles_inl.h"

namespace hunch {
namespace {

// What a tile of queries needs while it looks at one chunk. Carved from the caller's scratch.
struct TileScratch {
  float* scores;           // [kAttentionTile][kAttentionChunk], then e = exp(score - m) in place
  float* block_scores;     // [kAttentionTile][kKvBlock]
  float* packed_q;         // [head_dim][queries of the tile]
  float* row_q;            // [head_dim][queries of one row], for the slots off the contiguous part
  const void** value_row;  // [kAttentionChunk]
  const void** next_row;   // [kAttentionChunk]: what to prefetch while value_row is read
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
int RowPositions(const RowView& view) { return view.contiguous + view.extras; }

// packed_q[d][query] of `queries` queries.
template <typename Element>
void PackQueries(const AttentionArgs& args, const Query* query, int queries, float* packed_q) {
  const int head_dim = args.layer.head_dim;
  for (int t = 0; t < queries; ++t) {
    const float* q = args.q + (int64_t{query[t].row} * args.heads + query[t].head) * head_dim;
    if constexpr (kHasScale<Element>) {
      float rotated[256];
      const float scale = RotateHead(q, head_dim, rotated);
      for (int d = 0; d < head_dim; ++d) packed_q[d * queries + t] = rotated[d] * scale;
    } else {
      for (int d = 0; d < head_dim; ++d) packed_q[d * queries + t] = q[d];
    }
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

// The slot of the chunk's position p on the query's own path.
int32_t SlotAt(const AttentionArgs& args, const Query& query, int chunk_begin, int p) {
  const RowView& view = args.views[query.row];
  return p < query.contiguous ? chunk_begin + p : view.extra[chunk_begin + p - view.contiguous];
}

// Scores of the slots that follow the contiguous part, for the queries of one row.
template <typename Element>
void ScoreExtras(const AttentionArgs& args, int kv_head, const Query* query, int queries,
                 int chunk_begin, float* packed_q, float* block_scores, float* scores) {
  int32_t scored = -1;  // the block whose scores are in block_scores
  PackQueries<Element>(args, query, queries, packed_q);
  for (int p = query->contiguous; p < query->count; ++p) {
    const int32_t slot = SlotAt(args, *query, chunk_begin, p);
    const int32_t block = args.blocks[slot / kKvBlock];
    if (block != scored) {
      ScoreAny<Element>(queries, args, kv_head, &block, 1, {nullptr, 0}, packed_q, block_scores,
                        kKvBlock);
      scored = block;
    }
    for (int t = 0; t < queries; ++t) {
      scores[t * kAttentionChunk + p] = block_scores[t * kKvBlock + slot % kKvBlock];
    }
  }
}

// Each query's share of a chunk; returns the fewest contiguous positions and sets the most.
int ShareChunk(const AttentionArgs& args, int chunk_begin, Query* query, int queries, int& most) {
  int common = kAttentionChunk;
  most = 0;
  for (int t = 0; t < queries; ++t) {
    const RowView& view = args.views[query[t].row];
    query[t].contiguous = MaxInt(0, MinInt(view.contiguous - chunk_begin, kAttentionChunk));
    query[t].count = MaxInt(0, MinInt(RowPositions(view) - chunk_begin, kAttentionChunk));
    most = MaxInt(most, query[t].contiguous);
    common = MinInt(common, query[t].contiguous);
  }
  return common;
}

// e[p] times the scale of the values at p, for the positions that the query sees.
template <typename Element>
void ScaleWeights(const AttentionArgs& args, int kv_head, const Query& query, int chunk_begin,
                  float* e) {
  if constexpr (kHasScale<Element>) {
    const auto scales = [&](int32_t slot) {
      return KvScales(ValueBlock<Element>(args, kv_head, args.blocks[slot / kKvBlock]),
                      args.layer.head_dim);
    };
    int p = 0;
    for (; p + kKvBlock <= query.contiguous; p += kKvBlock) {
      StoreFloats(e + p, Mul(LoadFloats(e + p), LoadFloats(scales(chunk_begin + p))));
    }
    for (; p < query.count; ++p) {
      const int32_t slot = SlotAt(args, query, chunk_begin, p);
      e[p] *= scales(slot)[slot % kKvBlock];
    }
  }
}

// value_row and next_row of the contiguous positions [0, count) of a chunk.
template <typename Element>
void ListValueRows(const AttentionArgs& args, int kv_head, int chunk_begin, int count,
                   const NextChunk& next, const TileScratch& scratch) {
  const int head_dim = args.layer.head_dim;
  for (int p = 0; p < count; p += kKvBlock) {
    const int b = p / kKvBlock;
    const int32_t* blocks = args.blocks + chunk_begin / kKvBlock;
    const Element* row = ValueBlock<Element>(args, kv_head, blocks[b]);
    const Element* ahead =
        b < next.count ? ValueBlock<Element>(args, kv_head, next.blocks[b]) : row;
    if constexpr (kHasScale<Element>) Prefetch(KvScales(ahead, head_dim));
    for (int i = 0; i < kKvBlock; ++i) {  // the last block's list may go past count
      scratch.value_row[p + i] = row + i * head_dim;
      scratch.next_row[p + i] = ahead + i * head_dim;
    }
  }
}

// One chunk for one tile of queries whose packed_q is ready. partial[query * stride] receives
// o[head_dim], m, l; queries that see nothing of the chunk receive nothing.
template <typename Element>
void TileChunk(const AttentionArgs& args, int kv_head, Query* query, int queries, int chunk,
               const NextChunk& next, const TileScratch& scratch, float* partial, int stride) {
  const int head_dim = args.layer.head_dim;
  const int begin = chunk * kAttentionChunk;
  int most;
  const int common = ShareChunk(args, begin, query, queries, most);
  ScoreAny<Element>(queries, args, kv_head, args.blocks + begin / kKvBlock,
                    (most + kKvBlock - 1) / kKvBlock, next, scratch.packed_q, scratch.scores,
                    kAttentionChunk);
  for (int t = 0; t < queries; t += RunOfRow(query, t, queries)) {
    if (query[t].count == query[t].contiguous) continue;
    ScoreExtras<Element>(args, kv_head, query + t, RunOfRow(query, t, queries), begin,
                         scratch.row_q, scratch.block_scores, scratch.scores + t * kAttentionChunk);
  }
  for (int t = 0; t < queries; ++t) {
    if (query[t].count == 0) continue;
    const MaxSum stats = SoftmaxInPlace(scratch.scores + t * kAttentionChunk, query[t].count);
    float* out = partial + t * stride;
    for (int d = 0; d < head_dim; d += 16) StoreFloats(out + d, Splat(0.0f));
    out[head_dim] = stats.max;
    out[head_dim + 1] = stats.sum;
    ScaleWeights<Element>(args, kv_head, query[t], begin, scratch.scores + t * kAttentionChunk);
  }
  ListValueRows<Element>(args, kv_head, begin, common, next, scratch);
  if (common > 0) {
    ValueAny<Element>(queries, {scratch.value_row, scratch.next_row, 0, common}, head_dim,
                      scratch.scores, partial, stride);
  }
  // What only some rows see: a branch of the tree, or the end of a longer row.
  for (int t = 0; t < queries; t += RunOfRow(query, t, queries)) {
    if (query[t].count == common) continue;
    for (int p = common; p < query[t].count; ++p) {
      const int32_t slot = SlotAt(args, query[t], begin, p);
      scratch.value_row[p] = ValueBlock<Element>(args, kv_head, args.blocks[slot / kKvBlock]) +
                             slot % kKvBlock * head_dim;
    }
    ValueAny<Element>(RunOfRow(query, t, queries),
                      {scratch.value_row, scratch.value_row, common, query[t].count}, head_dim,
                      scratch.scores + t * kAttentionChunk, partial + t * stride, stride);
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

// Cuts the caller's memory into pieces; returns what is left.
float* CarveTile(void* memory, int head_dim, TileScratch& tile) {
  auto** pointers = static_cast<const void**>(memory);
  tile.value_row = pointers;
  tile.next_row = pointers + kAttentionChunk;
  float* floats = reinterpret_cast<float*>(pointers + 2 * kAttentionChunk);
  tile.scores = floats;
  floats += kAttentionTile * kAttentionChunk;
  tile.block_scores = floats;
  floats += kAttentionTile * kKvBlock;
  tile.packed_q = floats;
  floats += kAttentionTile * head_dim;
  tile.row_q = floats;
  return floats + kAttentionTile * head_dim;
}

void SetQuery(const AttentionArgs& args, int kv_head, int row_begin, int index, Query& query) {
  const int group = args.heads / args.layer.kv_heads;
  query.row = row_begin + index / group;
  query.head = kv_head * group + index % group;
}

int ChunksOf(const AttentionArgs& args, int row) {
  return (RowPositions(args.views[row]) + kAttentionChunk - 1) / kAttentionChunk;
}

// The chunk after `chunk`, as far as the row's contiguous part goes.
NextChunk ChunkAfter(const AttentionArgs& args, int row, int chunk) {
  const int begin = (chunk + 1) * kAttentionChunk;
  const int positions = MinInt(args.views[row].contiguous - begin, kAttentionChunk);
  if (positions <= 0) return {nullptr, 0};
  return {args.blocks + begin / kKvBlock, (positions + kKvBlock - 1) / kKvBlock};
}

// Chunks [chunk_begin, chunk_end) for the queries of rows [row_begin, row_end). A tile's
// partials go to place(chunk, first query); then done(chunk, first query, queries, how many,
// partials) is called.
template <typename Element, typename Place, typename Done>
VEC16_FN void ForEachTileChunk(const AttentionArgs& args, int kv_head, int row_begin, int row_end,
                               int chunk_begin, int chunk_end, const TileScratch& scratch,
                               Place place, Done done) {
  const int stride = args.layer.head_dim + kAttentionPartialPad;
  const int queries = (row_end - row_begin) * (args.heads / args.layer.kv_heads);
  // SPEED ONLY: how queries are grouped. Balanced: 9 queries become 5 + 4, not 8 + 1.
#ifdef HUNCH_FLIP_SPEED_ONLY
  const int tiles = queries;
#else
  const int tiles = (queries + kMaxQueryTile - 1) / kMaxQueryTile;
#endif
  for (int chunk = chunk_begin; chunk < chunk_end; ++chunk) {
    for (int tile = 0; tile < tiles; ++tile) {
      const int first = queries * tile / tiles;
      const int count = queries * (tile + 1) / tiles - first;
      Query query[kMaxQueryTile];
      for (int t = 0; t < count; ++t) SetQuery(args, kv_head, row_begin, first + t, query[t]);
      if (tiles > 1 || chunk == chunk_begin)
        PackQueries<Element>(args, query, count, scratch.packed_q);
      // SPEED ONLY: the first tile's pass brings the next chunk; for the others it is there
      // already.
      const NextChunk next =
          tile == 0 ? ChunkAfter(args, row_end - 1, chunk) : NextChunk{nullptr, 0};
      float* partial = place(chunk, first);
      TileChunk<Element>(args, kv_head, query, count, chunk, next, scratch, partial, stride);
      done(chunk, first, query, count, partial);
    }
  }
}

template <typename Element>
void AttentionRowBlock(const AttentionArgs& args, int kv_head, int row_begin, int row_end,
                       void* memory) {
  const int head_dim = args.layer.head_dim;
  const int stride = head_dim + kAttentionPartialPad;
  TileScratch scratch;
  float* later = CarveTile(memory, head_dim, scratch);  // [kAttentionTile][stride]
  float* running = later + kAttentionTile * stride;     // [queries][stride]
  int chunks = 0;
  for (int row = row_begin; row < row_end; ++row) chunks = MaxInt(chunks, ChunksOf(args, row));
  ForEachTileChunk<Element>(
      args, kv_head, row_begin, row_end, 0, chunks, scratch,
      [&](int chunk, int first) { return chunk == 0 ? running + first * stride : later; },
      [&](int chunk, int first, const Query* query, int count, const float* partial) {
        for (int t = 0; t < count; ++t) {
          if (chunk == 0 || query[t].count == 0) continue;
          MergePartial(running + (first + t) * stride, partial + t * stride, head_dim);
        }
      });
  const int queries = (row_end - row_begin) * (args.heads / args.layer.kv_heads);
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
    WithKvElement(args.layer.type, [&](auto element) {
      AttentionRowBlock<decltype(element)>(args, kv_head, row, end, scratch);
    });
  }
}

// partials[chunk][KV head][row][head of the group][stride]: a tile's queries lie side by side.
int64_t PartialAt(const AttentionArgs& args, int chunk, int kv_head, int row) {
  const int group = args.heads / args.layer.kv_heads;
  return ((int64_t{chunk} * args.layer.kv_heads + kv_head) * args.rows + row) * group *
         (args.layer.head_dim + kAttentionPartialPad);
}

template <typename Element>
void PartialsTyped(const AttentionArgs& args, int kv_head, int row_begin, int row_end,
                   int chunk_begin, int chunk_end, float* partials, void* memory) {
  const int stride = args.layer.head_dim + kAttentionPartialPad;
  TileScratch scratch;
  CarveTile(memory, args.layer.head_dim, scratch);
  ForEachTileChunk<Element>(
      args, kv_head, row_begin, row_end, chunk_begin, chunk_end, scratch,
      [&](int chunk, int first) {
        return partials + PartialAt(args, chunk, kv_head, row_begin) + first * stride;
      },
      [](int, int, const Query*, int, const float*) {});
}

void AttentionPartialsImpl(const AttentionArgs& args, int kv_head, int row_begin, int row_end,
                           int chunk_begin, int chunk_end, float* partials, void* scratch) {
  WithKvElement(args.layer.type, [&](auto element) {
    PartialsTyped<decltype(element)>(args, kv_head, row_begin, row_end, chunk_begin, chunk_end,
                                     partials, scratch);
  });
}

void AttentionMergeImpl(const AttentionArgs& args, int kv_head, int row_begin, int row_end,
                        float* partials) {
  const int head_dim = args.layer.head_dim;
  const int group = args.heads / args.layer.kv_heads;
  const int stride = head_dim + kAttentionPartialPad;
  for (int row = row_begin; row < row_end; ++row) {
    for (int h = 0; h < group; ++h) {
      float* running = partials + PartialAt(args, 0, kv_head, row) + h * stride;
      for (int chunk = 1; chunk < ChunksOf(args, row); ++chunk) {
        MergePartial(running, partials + PartialAt(args, chunk, kv_head, row) + h * stride,
                     head_dim);
      }
      WriteResult(running, head_dim,
                  args.out + (int64_t{row} * args.heads + kv_head * group + h) * head_dim);
    }
  }
}

}  // namespace
}  // namespace hunch

#endif  // HUNCH_KERNELS_OPS_ATTENTION_INL_H_

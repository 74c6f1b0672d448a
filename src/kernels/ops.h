// Everything of a forward pass that is not a linear layer, one function per op, on the active
// instruction set. Orders of arithmetic: docs/numerics.md. Pure; thread safe.
#ifndef HUNCH_KERNELS_OPS_H_
#define HUNCH_KERNELS_OPS_H_

#include <cstdint>
#include <span>

#include "base/isa.h"

namespace hunch {

// y[n] = (x[n] * (1 / sqrt(mean(x^2) + eps))) * w[n]. y may be x. Any n.
void RmsNorm(const float* x, const float* w, float eps, int n, float* y);
// y[i] = silu(gate[i]) * up[i], silu(g) = g / (1 + exp(-g)). y may be gate or up.
void SiluMul(const float* gate, const float* up, int64_t n, float* y);
// x[i] += y[i]
void AddInPlace(float* x, const float* y, int64_t n);

// cos and sin of position * frequency[i], i < n: cos_sin[2i], cos_sin[2i+1]. Computed in double by
// our own range reduction and polynomials, rounded once to fp32.
void RopeAngles(int64_t position, const double* frequency, int n, float* cos_sin);
// rope frequencies theta^(-2i/dim), i < dim/2, by our own pow in double.
void RopeFrequencies(double theta, int dim, double* frequency);
// Rotates heads x[heads][head_dim] in place over the first 2 * pairs elements of each head.
// neox: pairs (i, i + pairs); else pairs (2i, 2i+1).
void Rope(float* x, int heads, int head_dim, int pairs, const float* cos_sin, bool neox);

enum class KvType { kF16, kF32, kQ8_0 };
inline constexpr int kKvBlock = 16;  // positions per KV block

// One layer's paged cache as the kernels see it. Block b holds 16 slots; for KV head h:
//   keys   k[b][h][head_dim][16]   (a lane is a slot, so q.k needs no horizontal sum)
//   values v[b][h][16][head_dim]
// Elements are f16, f32, or int8 (q8_0); q8_0 has float scales[16], one per slot, after the
// elements of every [b][h], and its keys are rotated (docs/numerics.md). Keys and values have the
// same strides, in bytes.
struct KvLayer {
  KvType type;
  void* k;
  void* v;
  int64_t block_stride;  // from block b to b + 1
  int64_t head_stride;   // from head h of a block to h + 1
  int kv_heads;
  int head_dim;
};
// Bytes of one head's, and of all heads' keys (as many again: values) in one block.
int64_t KvHeadBytes(KvType type, int head_dim);
int64_t KvBlockBytes(KvType type, int kv_heads, int head_dim);
// A layer whose blocks and heads lie without gaps.
KvLayer DenseKvLayer(KvType type, void* k, void* v, int kv_heads, int head_dim);

// Rounds one row's k[kv_heads][head_dim] and v[...] to the cache type and stores them in a slot.
void KvStore(const KvLayer& layer, int32_t block, int slot_in_block, const float* k,
             const float* v);
// Copies slot to slot (accepted tree nodes that move to their place in the sequence).
void KvMove(const KvLayer& layer, int32_t from_block, int from_slot, int32_t to_block, int to_slot);

// What one row may look at. Logical position p < contiguous is slot p of the sequence's block
// table; then extra[0..extras) are the further slots of its path, at positions contiguous,
// contiguous + 1, ... The row's own slot is the last of all.
struct RowView {
  int32_t contiguous;
  const int32_t* extra;
  int32_t extras;
};

struct AttentionArgs {
  KvLayer layer;
  const int32_t* blocks;  // the sequence's block table: slot s is in blocks[s / 16]
  const float* q;         // [rows][heads * head_dim], already rotated
  float* out;             // [rows][heads * head_dim]
  const RowView* views;   // [rows]
  int rows;
  int heads;
  float scale;  // 1 / sqrt(head_dim)
};
// Softmax partials are made every 256 logical positions and merged in ascending order.
inline constexpr int kAttentionChunk = 256;
// head_dim must be a multiple of 16, at most 256; heads a multiple of kv_heads.
// Bytes of scratch (64-byte aligned) that one call of Attention or AttentionPartials needs. It
// grows with rows up to kAttentionRowBlock only.
inline constexpr int kAttentionRowBlock = 16;
inline constexpr int kAttentionTile = 8;  // most queries (row x head) of a pass over K and V
size_t AttentionScratchBytes(const AttentionArgs& args);
// Rows [row_begin, row_end) for one KV head and the query heads that share it.
void Attention(const AttentionArgs& args, int kv_head, int row_begin, int row_end, void* scratch);

// The same bits in two steps, for a long context whose few KV heads do not fill the threads: first
// AttentionPartials for every (KV head, chunk) by any thread, then AttentionMerge for every KV
// head. Best when a thread's chunks follow each other: the chunk after the current one is
// prefetched. A partial is o[head_dim], then max and sum, then padding.
inline constexpr int kAttentionPartialPad = 16;
// Chunks that the longest row has, and floats that all partials of the call take.
int AttentionChunks(const AttentionArgs& args);
int64_t AttentionPartialsFloats(const AttentionArgs& args);
void AttentionPartials(const AttentionArgs& args, int kv_head, int row_begin, int row_end,
                       int chunk_begin, int chunk_end, float* partials, void* scratch);
// Overwrites the partials of chunk 0.
void AttentionMerge(const AttentionArgs& args, int kv_head, int row_begin, int row_end,
                    float* partials);

// Index of the largest value; ties go to the lowest index; NaN never wins. n >= 1.
int64_t ArgMax(const float* x, int64_t n);
// max over x, and sum of exp(x - max) with 16 partial sums: log-softmax is x - max - log(sum).
struct MaxSum {
  float max;
  float sum;
};
MaxSum SoftmaxStats(const float* x, int64_t n);

// Our own elementary functions, the same bits on every machine (scalar entry points).
float Exp(float x);
float Log(float x);
float Log1p(float x);
// out[i] = Exp(x[i]); out may be x.
void ExpRow(const float* x, int64_t n, float* out);
// The keyed Gumbel noise of docs/lossless.md for tokens first..first + n - 1:
// G = -log(-log1p(-w)), w = (bits + 1/2) 2^-32, bits = Philox word (token & 3) of counter
// {token >> 2, choice, position_low, position_high} and key {seed_low, seed_high}.
void GumbelRow(uint64_t seed, uint32_t choice, uint64_t position, int64_t first, int64_t n,
               float* out);

// The kernels of a stated instruction set, for tests: every function above in one table.
struct Ops {
  void (*rms_norm)(const float*, const float*, float, int, float*);
  void (*silu_mul)(const float*, const float*, int64_t, float*);
  void (*add_in_place)(float*, const float*, int64_t);
  void (*rope)(float*, int, int, int, const float*, bool);
  void (*kv_store)(const KvLayer&, int32_t, int, const float*, const float*);
  void (*attention)(const AttentionArgs&, int, int, int, void*);
  void (*attention_partials)(const AttentionArgs&, int, int, int, int, int, float*, void*);
  void (*attention_merge)(const AttentionArgs&, int, int, int, float*);
  int64_t (*arg_max)(const float*, int64_t);
  MaxSum (*softmax_stats)(const float*, int64_t);
  void (*exp_row)(const float*, int64_t, float*);
  void (*log_row)(const float*, int64_t, float*);
  void (*log1p_row)(const float*, int64_t, float*);
  void (*gumbel_row)(uint64_t, uint32_t, uint64_t, int64_t, int64_t, float*);
};
// Null when this build has none for `isa`; CPU support is the caller's to know (SupportedIsas).
const Ops* OpsFor(Isa isa);

}  // namespace hunch

#endif  // HUNCH_KERNELS_OPS_H_

// Dispatch of ops.h to the active instruction set, and the ops that need none.
#include "kernels/ops.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "kernels/ops_tables.h"
#include "kernels/self_check.h"

namespace hunch {
namespace {

const Ops& Active() { return CheckedKernels().kernels.ops; }

int Positions(const RowView& view) { return view.contiguous + view.extras; }

size_t ElementBytes(KvType type) {
  switch (type) {
    case KvType::kF16:
      return 2;
    case KvType::kF32:
      return 4;
    case KvType::kQ8_0:
      return 1;
  }
  return 0;
}

template <typename Element>
void Move(const KvLayer& layer, int32_t from_block, int from_slot, int32_t to_block, int to_slot) {
  const int dim = layer.head_dim;
  for (int h = 0; h < layer.kv_heads; ++h) {
    const auto head = [&](void* base, int32_t block) {
      return reinterpret_cast<Element*>(static_cast<std::byte*>(base) + block * layer.block_stride +
                                        h * layer.head_stride);
    };
    Element* const from_keys = head(layer.k, from_block);
    Element* const to_keys = head(layer.k, to_block);
    Element* const from_values = head(layer.v, from_block);
    Element* const to_values = head(layer.v, to_block);
    for (int d = 0; d < dim; ++d) {
      to_keys[d * kKvBlock + to_slot] = from_keys[d * kKvBlock + from_slot];
    }
    std::memmove(to_values + to_slot * dim, from_values + from_slot * dim, dim * sizeof(Element));
    if (layer.type != KvType::kQ8_0) continue;
    const auto scales = [&](Element* head) {
      return reinterpret_cast<float*>(head + dim * kKvBlock);
    };
    scales(to_keys)[to_slot] = scales(from_keys)[from_slot];
    scales(to_values)[to_slot] = scales(from_values)[from_slot];
  }
}

void CheckLayer(const KvLayer& layer) {
  HUNCH_CHECK(layer.head_dim % 16 == 0 && layer.head_dim > 0 && layer.head_dim <= 256)
      << "head_dim " << layer.head_dim;
}

void CheckAttention(const AttentionArgs& args, int row_begin, int row_end) {
  CheckLayer(args.layer);
  HUNCH_CHECK_EQ(args.heads % args.layer.kv_heads, 0);
  HUNCH_CHECK(0 <= row_begin && row_begin <= row_end && row_end <= args.rows)
      << row_begin << ".." << row_end << " of " << args.rows;
  for (int row = row_begin; row < row_end; ++row) HUNCH_CHECK_GE(Positions(args.views[row]), 1);
}

}  // namespace

const Ops* OpsFor(Isa isa) {
  switch (isa) {
    case Isa::kRef:
      return &kOpsRef;
#if defined(__x86_64__)
    case Isa::kAvx2:
      return &kOpsAvx2;
    case Isa::kAvx512:
      return &kOpsAvx512;
#elif defined(__aarch64__)
    case Isa::kNeon:
      return &kOpsNeon;
#endif
    default:
      return nullptr;
  }
}

void RmsNorm(const float* x, const float* w, float eps, int n, float* y) {
  Active().rms_norm(x, w, eps, n, y);
}
void SiluMul(const float* gate, const float* up, int64_t n, float* y) {
  Active().silu_mul(gate, up, n, y);
}
void AddInPlace(float* x, const float* y, int64_t n) { Active().add_in_place(x, y, n); }
void Rope(float* x, int heads, int head_dim, int pairs, const float* cos_sin, bool neox) {
  Active().rope(x, heads, head_dim, pairs, cos_sin, neox);
}
int64_t KvHeadBytes(KvType type, int head_dim) {
  const int64_t scales = type == KvType::kQ8_0 ? kKvBlock * sizeof(float) : 0;
  return static_cast<int64_t>(head_dim * kKvBlock * ElementBytes(type)) + scales;
}
int64_t KvBlockBytes(KvType type, int kv_heads, int head_dim) {
  return kv_heads * KvHeadBytes(type, head_dim);
}
KvLayer DenseKvLayer(KvType type, void* k, void* v, int kv_heads, int head_dim) {
  return {.type = type,
          .k = k,
          .v = v,
          .block_stride = KvBlockBytes(type, kv_heads, head_dim),
          .head_stride = KvHeadBytes(type, head_dim),
          .kv_heads = kv_heads,
          .head_dim = head_dim};
}
void KvStore(const KvLayer& layer, int32_t block, int slot_in_block, const float* k,
             const float* v) {
  CheckLayer(layer);
  Active().kv_store(layer, block, slot_in_block, k, v);
}
void KvMove(const KvLayer& layer, int32_t from_block, int from_slot, int32_t to_block,
            int to_slot) {
  switch (layer.type) {
    case KvType::kF16:
      return Move<uint16_t>(layer, from_block, from_slot, to_block, to_slot);
    case KvType::kF32:
      return Move<float>(layer, from_block, from_slot, to_block, to_slot);
    case KvType::kQ8_0:
      return Move<int8_t>(layer, from_block, from_slot, to_block, to_slot);
  }
}

size_t AttentionScratchBytes(const AttentionArgs& args) {
  const int64_t head_dim = args.layer.head_dim;
  const int64_t partial = head_dim + kAttentionPartialPad;
  const int64_t queries =
      int64_t{std::min(args.rows, kAttentionRowBlock)} * (args.heads / args.layer.kv_heads);
  const int64_t tile = kAttentionTile * (kAttentionChunk + kKvBlock + 2 * head_dim + partial);
  return sizeof(float) * (tile + queries * partial) + 2 * kAttentionChunk * sizeof(void*);
}
void Attention(const AttentionArgs& args, int kv_head, int row_begin, int row_end, void* scratch) {
  CheckAttention(args, row_begin, row_end);
  Active().attention(args, kv_head, row_begin, row_end, scratch);
}
int AttentionChunks(const AttentionArgs& args) {
  int longest = 0;
  for (int row = 0; row < args.rows; ++row) longest = std::max(longest, Positions(args.views[row]));
  return (longest + kAttentionChunk - 1) / kAttentionChunk;
}
int64_t AttentionPartialsFloats(const AttentionArgs& args) {
  return int64_t{AttentionChunks(args)} * args.rows * args.heads *
         (args.layer.head_dim + kAttentionPartialPad);
}
void AttentionPartials(const AttentionArgs& args, int kv_head, int row_begin, int row_end,
                       int chunk_begin, int chunk_end, float* partials, void* scratch) {
  CheckAttention(args, row_begin, row_end);
  Active().attention_partials(args, kv_head, row_begin, row_end, chunk_begin, chunk_end, partials,
                              scratch);
}
void AttentionMerge(const AttentionArgs& args, int kv_head, int row_begin, int row_end,
                    float* partials) {
  CheckAttention(args, row_begin, row_end);
  Active().attention_merge(args, kv_head, row_begin, row_end, partials);
}

int64_t ArgMax(const float* x, int64_t n) { return Active().arg_max(x, n); }
MaxSum SoftmaxStats(const float* x, int64_t n) { return Active().softmax_stats(x, n); }

float Exp(float x) {
  Active().exp_row(&x, 1, &x);
  return x;
}
float Log(float x) {
  Active().log_row(&x, 1, &x);
  return x;
}
float Log1p(float x) {
  Active().log1p_row(&x, 1, &x);
  return x;
}
void ExpRow(const float* x, int64_t n, float* out) { Active().exp_row(x, n, out); }
void GumbelRow(uint64_t seed, uint32_t choice, uint64_t position, int64_t first, int64_t n,
               float* out) {
  Active().gumbel_row(seed, choice, position, first, n, out);
}

}  // namespace hunch

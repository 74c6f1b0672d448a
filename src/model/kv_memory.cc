#include "model/model.h"

namespace hunch {
namespace {

static_assert(kKvBlock == kSlotsPerBlock, "kernels and accounts must agree on the block size");

// Elements of one layer's keys in one block: [kv_heads][head_dim][16].
int64_t BlockElements(int kv_heads, int head_dim) {
  return static_cast<int64_t>(kv_heads) * head_dim * kKvBlock;
}

size_t ElementBytes(KvType type) { return type == KvType::kF16 ? 2 : 4; }

}  // namespace

Result<ModelKv> ModelKv::Create(const ModelConfig& config, KvType type, int blocks) {
  ModelKv kv;
  kv.type_ = type;
  kv.layers_ = config.layers;
  kv.kv_heads_ = config.kv_heads;
  kv.head_dim_ = config.head_dim;
  const size_t block_bytes = BlockElements(config.kv_heads, config.head_dim) * ElementBytes(type);
  HUNCH_ASSIGN_OR_RETURN(kv.storage_, KvStorage::Create(config.layers, blocks, block_bytes));
  return kv;
}

size_t ModelKv::Bytes(const ModelConfig& config, KvType type, int blocks) {
  return 2 * BlockElements(config.kv_heads, config.head_dim) * ElementBytes(type) *
         static_cast<size_t>(config.layers) * blocks;
}

KvLayer ModelKv::layer(int index) {
  return {.type = type_,
          .k = storage_.keys(index),
          .v = storage_.values(index),
          .block_stride = BlockElements(kv_heads_, head_dim_),
          .kv_heads = kv_heads_,
          .head_dim = head_dim_};
}

void ModelKv::MoveSlot(std::span<const int32_t> blocks, int from, int to) {
  if (from == to) return;
  for (int index = 0; index < layers_; ++index) {
    KvMove(layer(index), blocks[from / kKvBlock], from % kKvBlock, blocks[to / kKvBlock],
           to % kKvBlock);
  }
}

}  // namespace hunch

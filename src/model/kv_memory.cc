#include "model/model.h"

namespace hunch {

static_assert(kKvBlock == kSlotsPerBlock, "kernels and accounts must agree on the block size");

Result<ModelKv> ModelKv::Create(const ModelConfig& config, KvType type, int blocks) {
  ModelKv kv;
  kv.type_ = type;
  kv.layers_ = config.layers;
  kv.kv_heads_ = config.kv_heads;
  kv.head_dim_ = config.head_dim;
  const size_t block_bytes = KvBlockBytes(type, config.kv_heads, config.head_dim);
  HUNCH_ASSIGN_OR_RETURN(kv.storage_, KvStorage::Create(config.layers, blocks, block_bytes));
  return kv;
}

size_t ModelKv::Bytes(const ModelConfig& config, KvType type, int blocks) {
  return 2 * static_cast<size_t>(KvBlockBytes(type, config.kv_heads, config.head_dim)) *
         config.layers * blocks;
}

KvLayer ModelKv::layer(int index) {
  return DenseKvLayer(type_, storage_.keys(index), storage_.values(index), kv_heads_, head_dim_);
}

void ModelKv::MoveSlot(std::span<const int32_t> blocks, int from, int to) {
  if (from == to) return;
  for (int index = 0; index < layers_; ++index) {
    KvMove(layer(index), blocks[from / kKvBlock], from % kKvBlock, blocks[to / kKvBlock],
           to % kKvBlock);
  }
}

}  // namespace hunch

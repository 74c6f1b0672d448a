// The table of tensor types.
#include "quant/types.h"

#include "base/check.h"
#include "quant/blocks.h"

namespace hunch {
namespace {

template <typename Block>
constexpr TypeTraits BlockTraits(TensorType type, std::string_view name) {
  return {type, name, Block::kElements, sizeof(Block)};
}

constexpr TypeTraits kTypes[] = {
    {TensorType::kF32, "F32", 1, 4},
    {TensorType::kF16, "F16", 1, 2},
    BlockTraits<BlockQ4_0>(TensorType::kQ4_0, "Q4_0"),
    BlockTraits<BlockQ4_1>(TensorType::kQ4_1, "Q4_1"),
    BlockTraits<BlockQ5_0>(TensorType::kQ5_0, "Q5_0"),
    BlockTraits<BlockQ5_1>(TensorType::kQ5_1, "Q5_1"),
    BlockTraits<BlockQ8_0>(TensorType::kQ8_0, "Q8_0"),
    BlockTraits<BlockQ2_K>(TensorType::kQ2_K, "Q2_K"),
    BlockTraits<BlockQ3_K>(TensorType::kQ3_K, "Q3_K"),
    BlockTraits<BlockQ4_K>(TensorType::kQ4_K, "Q4_K"),
    BlockTraits<BlockQ5_K>(TensorType::kQ5_K, "Q5_K"),
    BlockTraits<BlockQ6_K>(TensorType::kQ6_K, "Q6_K"),
    BlockTraits<BlockIQ4_NL>(TensorType::kIQ4_NL, "IQ4_NL"),
    {TensorType::kBF16, "BF16", 1, 2},
};

}  // namespace

std::span<const TypeTraits> KnownTypes() { return kTypes; }

const TypeTraits* FindTypeTraits(uint32_t gguf_type) {
  for (const TypeTraits& traits : kTypes) {
    if (static_cast<uint32_t>(traits.type) == gguf_type) return &traits;
  }
  return nullptr;
}

const TypeTraits& GetTypeTraits(TensorType type) {
  const TypeTraits* traits = FindTypeTraits(static_cast<uint32_t>(type));
  HUNCH_CHECK(traits != nullptr) << "no tensor type " << static_cast<uint32_t>(type);
  return *traits;
}

}  // namespace hunch

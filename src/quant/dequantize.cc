#include <cstring>

#include "base/check.h"
#include "quant/blocks.h"
#include "quant/quant.h"
#include "quant/unpack.h"

namespace hunch {
namespace {

void DequantizeHalves(std::span<const std::byte> src, float (*widen)(uint16_t),
                      std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    HalfBytes half;
    std::memcpy(&half, &src[2 * i], sizeof(half));
    out[i] = widen(LoadHalf(half));
  }
}

void DequantizeBlocks(const TypeTraits& traits, std::span<const std::byte> src,
                      std::span<float> out) {
  BlockCodes block;
  const std::byte* from = src.data();
  for (size_t start = 0; start < out.size(); start += static_cast<size_t>(block.elements)) {
    UnpackCodes(traits.type, from, &block);
    from += traits.block_bytes;
    for (int i = 0; i < block.elements; ++i) {
      const int group = i / block.group_elements;
      // Without an offset nothing is added: + 0 would turn -0 into +0.
      const float product = block.scale[group] * static_cast<float>(block.codes[i]);
      out[start + static_cast<size_t>(i)] =
          block.has_offset ? product + block.offset[group] : product;
    }
  }
}

}  // namespace

size_t BytesOf(TensorType type, int64_t elements) {
  const TypeTraits& traits = GetTypeTraits(type);
  HUNCH_CHECK_GE(elements, 0);
  HUNCH_CHECK_EQ(elements % traits.block_elements, 0) << traits.name;
  return static_cast<size_t>(elements / traits.block_elements) *
         static_cast<size_t>(traits.block_bytes);
}

void Dequantize(TensorType type, std::span<const std::byte> src, std::span<float> out) {
  HUNCH_CHECK_EQ(src.size(), BytesOf(type, static_cast<int64_t>(out.size())));
  switch (type) {
    case TensorType::kF32:
      if (!out.empty()) std::memcpy(out.data(), src.data(), src.size());
      return;
    case TensorType::kF16:
      return DequantizeHalves(src, F16ToF32, out);
    case TensorType::kBF16:
      return DequantizeHalves(src, Bf16ToF32, out);
    default:
      return DequantizeBlocks(GetTypeTraits(type), src, out);
  }
}

}  // namespace hunch

#include "train/export_head.h"

#include <cstring>
#include <utility>
#include <vector>

#include "base/check.h"
#include "quant/quant.h"
#include "quant/quantize.h"

namespace hunch {
namespace {

std::vector<std::byte> Converted(std::span<const float> values, TensorType type) {
  std::vector<std::byte> bytes(BytesOf(type, static_cast<int64_t>(values.size())));
  switch (type) {
    case TensorType::kQ8_0:
      QuantizeQ8_0(values, bytes);
      break;
    case TensorType::kQ4_0:
      QuantizeQ4_0(values, bytes);
      break;
    case TensorType::kF16:
      for (size_t i = 0; i < values.size(); ++i) {
        const uint16_t half = F32ToF16(values[i]);
        std::memcpy(&bytes[i * sizeof(half)], &half, sizeof(half));
      }
      break;
    default:
      HUNCH_CHECK(type == TensorType::kF32);
      std::memcpy(bytes.data(), values.data(), bytes.size());
  }
  return bytes;
}

}  // namespace

void AddWeight(GgufWriter& writer, const HeadTensor& tensor, std::span<const float> values,
               TensorType type) {
  TensorType own = tensor.rows == 0 ? TensorType::kF32 : type;
  if (tensor.columns % GetTypeTraits(own).block_elements != 0) own = TensorType::kF16;
  writer.AddTensor(tensor.name, own, tensor.shape(), Converted(values, own));
}

Status ExportHead(const std::string& path, const HeadConfig& config, const HeadState& state,
                  std::span<const float> tap_inverse, TensorType type) {
  GgufWriter writer;
  SetHeadConfig(config, writer);
  for (const WeightState& weight : state.weights) {
    const HeadTensor& tensor = weight.tensor;
    std::vector<float> values = weight.value;
    if (tensor.name == head_tensors::kFc && !tap_inverse.empty()) {
      HUNCH_CHECK_EQ(tap_inverse.size(), static_cast<size_t>(tensor.columns));
      for (size_t i = 0; i < values.size(); ++i) values[i] *= tap_inverse[i % tap_inverse.size()];
    }
    AddWeight(writer, tensor, values, type);
  }
  return writer.WriteFile(path);
}

HeadState ImportHead(const GgufFile& file, const HeadConfig& config) {
  HeadState state;
  for (const HeadTensor& tensor : HeadTensors(config)) {
    const GgufTensor* const found = file.FindTensor(tensor.name);
    if (tensor.optional) continue;
    WeightState weight;
    weight.tensor = tensor;
    weight.value.resize(static_cast<size_t>(found->elements()));
    Dequantize(found->type, found->data, weight.value);
    state.weights.push_back(std::move(weight));
  }
  return state;
}

}  // namespace hunch

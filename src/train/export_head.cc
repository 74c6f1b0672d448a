#include "train/export_head.h"

#include <utility>
#include <vector>

#include "base/check.h"
#include "quant/quant.h"

namespace hunch {

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
    AddHeadTensor(tensor, values, type, writer);
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

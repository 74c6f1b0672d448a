#include "train/head_student.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/fnv.h"
#include "train/export_head.h"

namespace hunch {

std::string HeadStudent::Settings() const {
  return fmt::format("taps {}, {} tokens", fmt::join(config_.taps, "+"), config_.output_rows());
}

uint64_t HeadStudent::From() const {
  if (!from_) return 0;
  const auto bytes = std::as_bytes(std::span(from_->weights.front().value));
  return Fnv64({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::vector<std::pair<std::string, std::string>> HeadStudent::Facts() const {
  return {{"Reads layers", fmt::format("{}", fmt::join(config_.taps, ", "))},
          {"Can guess", fmt::format("{} tokens", config_.output_rows())}};
}

std::vector<HeadTensor> HeadStudent::Tensors() const {
  std::vector<HeadTensor> tensors = HeadTensors(config_);
  std::erase_if(tensors, [](const HeadTensor& tensor) { return tensor.optional; });
  return tensors;
}

// Kinds without fc before all else read the target's rows as they are.
Status HeadStudent::Begin(const TrainSet& set, FeatureSource& features) {
  if (config_.kind != HeadKind::kEagle3) {
    tap_inverse_.assign(config_.tap_size(), 1.0f);
    return Ok{};
  }
  HUNCH_ASSIGN_OR_RETURN(const std::vector<float> spread, TapSpread(set.learned, features));
  for (const float root : spread) tap_inverse_.push_back(1 / root);
  return Ok{};
}

// A file's weights as they are in training, where taps are scaled.
std::optional<HeadState> HeadStudent::First() const {
  std::optional<HeadState> state = from_;
  if (!state || config_.kind != HeadKind::kEagle3) return state;
  for (WeightState& weight : state->weights) {
    if (weight.tensor.name != head_tensors::kFc) continue;
    for (size_t i = 0; i < weight.value.size(); ++i) {
      weight.value[i] /= tap_inverse_[i % tap_inverse_.size()];
    }
  }
  return state;
}

Result<HeadBatch> HeadStudent::Batch(std::span<const PlacedText> texts, int steps,
                                     FeatureSource& features) const {
  return MakeHeadBatch(texts, steps, target_, features, tap_inverse_);
}

Status HeadStudent::Export(const std::string& path, const HeadState& state, TensorType type) const {
  return ExportHead(path, config_, state,
                    config_.kind == HeadKind::kEagle3 ? tap_inverse_ : std::vector<float>(), type);
}

}  // namespace hunch

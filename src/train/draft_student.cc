#include "train/draft_student.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>

#include "model/weights.h"
#include "quant/quant.h"
#include "train/export_head.h"

namespace hunch {
namespace {

constexpr std::string_view kLayer = "blk.";
// Read with the configuration, not learned.
constexpr std::string_view kRopeFactors = "rope_freqs.weight";
constexpr std::string_view kFileType = "general.file_type";

// The numbers that `general.file_type` has for files of mostly this type.
uint64_t FileTypeOf(TensorType type) {
  switch (type) {
    case TensorType::kQ8_0:
      return 7;
    case TensorType::kQ4_0:
      return 2;
    case TensorType::kF16:
      return 1;
    default:
      return 0;
  }
}

std::string FileName(const GgufFile& file) {
  return std::filesystem::path(file.name()).filename().string();
}

}  // namespace

std::vector<int> KeptLayers(int layers, int keep) {
  const int first = (2 * keep + 1) / 3;
  std::vector<int> kept;
  for (int i = 0; i < keep; ++i) kept.push_back(i < first ? i : layers - keep + i);
  return kept;
}

Result<std::unique_ptr<DraftStudent>> DraftStudent::Create(std::shared_ptr<const GgufFile> source,
                                                           std::vector<int> layers,
                                                           const TargetRows& target,
                                                           const VocabularyId& vocabulary) {
  std::unique_ptr<DraftStudent> student(new DraftStudent(std::move(source), target));
  const GgufFile& file = *student->source_;
  ModelConfig& config = student->config_;
  HUNCH_ASSIGN_OR_RETURN(config, ReadModelConfig(file));
  HUNCH_RETURN_IF_ERROR(CheckWeights(file, config));
  student->tokens_ = std::min(vocabulary.size, target.config().vocab);
  if (config.vocab < student->tokens_) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{}: has {} tokens and the target {}; it can guess for it, but not "
                             "learn from its text",
                             file.name(), config.vocab, student->tokens_)};
  }
  if (layers.empty()) layers = {config.layers};
  const bool which = layers.size() > 1;
  const bool ascending =
      std::adjacent_find(layers.begin(), layers.end(), std::greater_equal<>()) == layers.end();
  if (!ascending || layers.front() < (which ? 0 : 1) || layers.back() > config.layers - which) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("{}: has {} layers: --layers takes how many of them to keep, or which, "
                    "counted from 0; not {}",
                    file.name(), config.layers, fmt::join(layers, ","))};
  }
  if (!which) layers = KeptLayers(config.layers, layers[0]);
  config.layers = static_cast<int>(layers.size());
  student->layers_ = std::move(layers);
  student->KeepTensors();
  return student;
}

// CheckWeights knows all names.
void DraftStudent::KeepTensors() {
  for (const GgufTensor& tensor : source_->tensors()) {
    std::string name = tensor.name;
    if (name == kRopeFactors) continue;
    if (name.starts_with(kLayer)) {
      int layer = 0;
      const char* const digits = name.data() + kLayer.size();
      const char* const end = std::from_chars(digits, name.data() + name.size(), layer).ptr;
      const auto place = std::find(layers_.begin(), layers_.end(), layer);
      if (place == layers_.end()) continue;
      name = fmt::format("{}{}{}", kLayer, place - layers_.begin(), end);
    }
    const bool matrix = tensor.shape.size() > 1;
    kept_.push_back({&tensor, {name, tensor.columns(), matrix ? tensor.rows() : 0}});
  }
}

DraftStart DraftStudent::Start(int threads) const {
  DraftStart start;
  start.config = config_;
  start.tensors = Tensors();
  start.threads = threads;
  const auto hidden = static_cast<size_t>(target_.config().hidden);
  start.target_hidden = target_.config().hidden;
  start.target_output.resize(static_cast<size_t>(tokens_) * hidden);
  for (TokenId token = 0; token < tokens_; ++token) {
    target_.Output(token, start.target_output.data() + static_cast<size_t>(token) * hidden);
  }
  return start;
}

std::string DraftStudent::Settings() const {
  return fmt::format("layers {}", fmt::join(layers_, "+"));
}

std::vector<std::pair<std::string, std::string>> DraftStudent::Facts() const {
  return {{"Begins as", FileName(*source_)},
          {"Its layers", fmt::format("{}", fmt::join(layers_, ", "))}};
}

std::vector<HeadTensor> DraftStudent::Tensors() const {
  std::vector<HeadTensor> tensors;
  for (const Kept& kept : kept_) tensors.push_back(kept.tensor);
  return tensors;
}

std::optional<HeadState> DraftStudent::First() const {
  HeadState state;
  for (const Kept& kept : kept_) {
    WeightState& weight = state.weights.emplace_back();
    weight.tensor = kept.tensor;
    weight.value.resize(static_cast<size_t>(kept.from->elements()));
    Dequantize(kept.from->type, kept.from->data, weight.value);
  }
  source_->DropPages();
  return state;
}

Result<HeadBatch> DraftStudent::Batch(std::span<const PlacedText> texts, int steps,
                                      FeatureSource& features) const {
  return MakeHeadBatch(texts, steps, target_, features, {});
}

Status DraftStudent::Export(const std::string& path, const HeadState& state,
                            TensorType type) const {
  GgufWriter writer;
  for (const auto& [key, value] : source_->metadata()) writer.Set(key, value);
  writer.Set(config_.architecture + ".block_count", static_cast<uint64_t>(config_.layers));
  writer.Set(std::string(kFileType), FileTypeOf(type));
  for (const WeightState& weight : state.weights) {
    AddHeadTensor(weight.tensor, weight.value, type, writer);
  }
  if (const GgufTensor* const factors = source_->FindTensor(kRopeFactors)) {
    writer.AddTensorView(factors->name, factors->type, factors->shape, factors->data);
  }
  return writer.WriteFile(path);
}

}  // namespace hunch

#include "train/checkpoint.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "weights/gguf.h"

namespace hunch {
namespace {

constexpr std::string_view kArchitecture = "hunch-checkpoint";

// A weight's three tensors, by what follows its name.
constexpr std::string_view kValue = "", kMean = ".mean", kSquare = ".square";

std::vector<double> Column(const std::vector<CurvePoint>& curve, double CurvePoint::*field) {
  std::vector<double> column;
  for (const CurvePoint& point : curve) column.push_back(point.*field);
  return column;
}

void AddFloats(GgufWriter& writer, const HeadTensor& tensor, std::string_view suffix,
               const std::vector<float>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  writer.AddTensorView(fmt::format("{}{}", tensor.name, suffix), TensorType::kF32, tensor.shape(),
                       bytes);
}

Error Bad(const GgufFile& file, std::string_view what) {
  return {ErrorCode::kBadFile, fmt::format("{}: {}; delete it to begin anew", file.name(), what)};
}

Status TakeFloats(const GgufFile& file, const HeadTensor& wanted, std::string_view suffix,
                  std::vector<float>& out) {
  const std::string name = fmt::format("{}{}", wanted.name, suffix);
  const GgufTensor* const tensor = file.FindTensor(name);
  if (tensor == nullptr || tensor->type != TensorType::kF32 || tensor->shape != wanted.shape()) {
    return Bad(file, fmt::format("has no tensor {} as it is needed", name));
  }
  out.resize(static_cast<size_t>(tensor->elements()));
  std::memcpy(out.data(), tensor->data.data(), tensor->data.size());
  return Ok{};
}

Result<std::vector<double>> Doubles(const GgufFile& file, std::string_view key) {
  const auto found = file.metadata().find(key);
  if (found != file.metadata().end()) {
    if (const auto* list = std::get_if<std::vector<double>>(&found->second)) return *list;
  }
  return Bad(file, fmt::format("has no list {}", key));
}

Status TakeCurve(const GgufFile& file, std::vector<CurvePoint>& curve) {
  HUNCH_ASSIGN_OR_RETURN(const std::vector<int64_t> tokens, file.GetInts("curve.tokens"));
  HUNCH_ASSIGN_OR_RETURN(const auto seconds, Doubles(file, "curve.seconds"));
  HUNCH_ASSIGN_OR_RETURN(const auto losses, Doubles(file, "curve.loss"));
  HUNCH_ASSIGN_OR_RETURN(const auto rates, Doubles(file, "curve.tokens_per_pass"));
  HUNCH_ASSIGN_OR_RETURN(const auto right, Doubles(file, "curve.right"));
  const size_t points = tokens.size();
  const size_t steps = points == 0 ? 0 : right.size() / points;
  if (right.size() != steps * points || seconds.size() != points || losses.size() != points ||
      rates.size() != points) {
    return Bad(file, "has a curve whose lists differ in length");
  }
  for (size_t i = 0; i < points; ++i) {
    const auto own = right.begin() + static_cast<std::ptrdiff_t>(i * steps);
    curve.push_back({tokens[i],
                     seconds[i],
                     losses[i],
                     rates[i],
                     {own, own + static_cast<std::ptrdiff_t>(steps)}});
  }
  return Ok{};
}

Status TakePosition(const GgufFile& file, TrainPosition& position) {
  const auto count = [&](std::string_view key, int64_t& out) -> Status {
    HUNCH_ASSIGN_OR_RETURN(out, file.GetInt(key));
    if (out < 0) return Bad(file, fmt::format("{} is negative", key));
    return Ok{};
  };
  int64_t stale = 0;
  HUNCH_RETURN_IF_ERROR(count("train.update", position.update));
  HUNCH_RETURN_IF_ERROR(count("train.tokens", position.tokens));
  HUNCH_RETURN_IF_ERROR(count("train.loss_count", position.loss_count));
  HUNCH_RETURN_IF_ERROR(count("train.stale", stale));
  position.stale = static_cast<int>(stale);
  HUNCH_ASSIGN_OR_RETURN(position.seconds, file.GetFloat("train.seconds"));
  HUNCH_ASSIGN_OR_RETURN(position.loss_sum, file.GetFloat("train.loss_sum"));
  HUNCH_ASSIGN_OR_RETURN(position.best, file.GetFloat("train.best"));
  HUNCH_ASSIGN_OR_RETURN(const std::string precision, file.GetString("train.precision"));
  for (const Precision known : {Precision::kF32, Precision::kBf16}) {
    if (PrecisionName(known) == precision) position.precision = known;
  }
  return TakeCurve(file, position.curve);
}

}  // namespace

Status WriteCheckpoint(const std::string& path, const Checkpoint& checkpoint) {
  GgufWriter writer;
  const TrainPosition& position = checkpoint.position;
  const auto set_count = [&](const char* key, int64_t value) {
    writer.Set(key, static_cast<uint64_t>(value));
  };
  writer.Set("general.architecture", std::string(kArchitecture));
  writer.Set("train.settings", checkpoint.settings);
  writer.Set("train.precision", std::string(PrecisionName(position.precision)));
  set_count("train.updates", checkpoint.state.updates);
  set_count("train.update", position.update);
  set_count("train.tokens", position.tokens);
  set_count("train.loss_count", position.loss_count);
  set_count("train.stale", position.stale);
  writer.Set("train.seconds", position.seconds);
  writer.Set("train.loss_sum", position.loss_sum);
  writer.Set("train.best", position.best);
  std::vector<uint64_t> tokens;
  std::vector<double> right;
  for (const CurvePoint& point : position.curve) {
    tokens.push_back(static_cast<uint64_t>(point.tokens));
    right.insert(right.end(), point.right.begin(), point.right.end());
  }
  writer.Set("curve.tokens", tokens);
  writer.Set("curve.seconds", Column(position.curve, &CurvePoint::seconds));
  writer.Set("curve.loss", Column(position.curve, &CurvePoint::loss));
  writer.Set("curve.right", right);
  writer.Set("curve.tokens_per_pass", Column(position.curve, &CurvePoint::tokens_per_pass));
  for (const WeightState& weight : checkpoint.state.weights) {
    AddFloats(writer, weight.tensor, kValue, weight.value);
    AddFloats(writer, weight.tensor, kMean, weight.mean);
    AddFloats(writer, weight.tensor, kSquare, weight.square);
  }
  return writer.WriteFile(path);
}

Result<Checkpoint> ReadCheckpoint(const std::string& path, std::span<const HeadTensor> tensors,
                                  const std::string& settings) {
  HUNCH_ASSIGN_OR_RETURN(const auto file, GgufFile::Open(path));
  HUNCH_ASSIGN_OR_RETURN(const std::string architecture, file->GetString("general.architecture"));
  if (architecture != kArchitecture) return Bad(*file, "is no checkpoint of hunch train");
  Checkpoint checkpoint;
  HUNCH_ASSIGN_OR_RETURN(checkpoint.settings, file->GetString("train.settings"));
  if (checkpoint.settings != settings) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: was made with other settings ({}; now {}); give the same again, "
                             "or delete it to begin anew",
                             path, checkpoint.settings, settings)};
  }
  HUNCH_RETURN_IF_ERROR(TakePosition(*file, checkpoint.position));
  HUNCH_ASSIGN_OR_RETURN(checkpoint.state.updates, file->GetInt("train.updates"));
  for (const HeadTensor& tensor : tensors) {
    WeightState weight;
    weight.tensor = tensor;
    HUNCH_RETURN_IF_ERROR(TakeFloats(*file, tensor, kValue, weight.value));
    HUNCH_RETURN_IF_ERROR(TakeFloats(*file, tensor, kMean, weight.mean));
    HUNCH_RETURN_IF_ERROR(TakeFloats(*file, tensor, kSquare, weight.square));
    checkpoint.state.weights.push_back(std::move(weight));
  }
  return checkpoint;
}

}  // namespace hunch

#include "train/head_start.h"

#include <fmt/format.h>

#include "train/export_head.h"

namespace hunch {

Result<TrainedBefore> OpenTrainedHead(const std::string& path, const TargetRows& target,
                                      const VocabularyId& vocabulary) {
  HUNCH_ASSIGN_OR_RETURN(const auto file, GgufFile::Open(path));
  HUNCH_ASSIGN_OR_RETURN(HeadConfig config, ReadHeadConfig(*file));
  HUNCH_RETURN_IF_ERROR(
      CheckHeadTarget(config, path, target.AsHeadTarget(vocabulary), target.file()->name()));
  if (file->FindTensor(head_tensors::kFcBias) != nullptr) {
    return Error{ErrorCode::kUnsupported, fmt::format("{}: has {}, which training knows nothing of",
                                                      path, head_tensors::kFcBias)};
  }
  if (config.normed_residual) {
    return Error{ErrorCode::kUnsupported, fmt::format("{}: has {}, which training knows nothing of",
                                                      path, head_keys::kNormedResidual)};
  }
  if (config.tokens.empty()) {
    for (TokenId token = 0; token < vocabulary.size; ++token) config.tokens.push_back(token);
  }
  const GgufTensor* largest = &file->tensors().front();
  for (const GgufTensor& tensor : file->tensors()) {
    if (tensor.elements() > largest->elements()) largest = &tensor;
  }
  HeadState state = ImportHead(*file, config);
  return TrainedBefore{std::move(config), std::move(state), largest->type};
}

HeadStart StartOf(const HeadConfig& config, const TargetRows& target, uint64_t seed, int threads) {
  HeadStart start;
  start.config = config;
  start.seed = seed;
  start.threads = threads;
  const auto hidden = static_cast<size_t>(config.target.hidden);
  start.output.resize(static_cast<size_t>(config.output_rows()) * hidden);
  for (int row = 0; row < config.output_rows(); ++row) {
    target.Output(config.tokens[row], start.output.data() + static_cast<size_t>(row) * hidden);
  }
  start.output_norm = target.OutputNorm();
  return start;
}

}  // namespace hunch

#include "train/target_rows.h"

#include <fmt/format.h>

#include <utility>

#include "kernels/matmul.h"
#include "model/weights.h"
#include "quant/quant.h"

namespace hunch {

Result<TargetRows> TargetRows::Open(std::shared_ptr<const GgufFile> file) {
  TargetRows rows;
  HUNCH_ASSIGN_OR_RETURN(rows.config_, ReadModelConfig(*file));
  HUNCH_RETURN_IF_ERROR(CheckWeights(*file, rows.config_));
  if (rows.config_.hidden % kActBlock != 0) {
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("{}: its hidden size is {}, which is no multiple of {}: heads for such "
                    "models cannot be trained",
                    file->name(), rows.config_.hidden, kActBlock)};
  }
  rows.embedding_ = file->FindTensor("token_embd.weight");
  const GgufTensor* const output = file->FindTensor("output.weight");
  rows.output_ = output == nullptr ? rows.embedding_ : output;
  rows.file_ = std::move(file);
  return rows;
}

void TargetRows::Row(const GgufTensor& tensor, TokenId token, float* out) const {
  const size_t bytes = BytesOf(tensor.type, tensor.columns());
  Dequantize(tensor.type, tensor.data.subspan(static_cast<size_t>(token) * bytes, bytes),
             {out, static_cast<size_t>(tensor.columns())});
}

std::vector<float> TargetRows::OutputNorm() const {
  const GgufTensor* const norm = file_->FindTensor("output_norm.weight");
  std::vector<float> out(config_.hidden);
  Dequantize(norm->type, norm->data, out);
  return out;
}

HeadTarget TargetRows::AsHeadTarget(const VocabularyId& vocabulary) const {
  return {.architecture = config_.architecture,
          .vocabulary = vocabulary,
          .hidden = config_.hidden,
          .layers = config_.layers};
}

}  // namespace hunch

// TargetRows: what a head needs of its target's file beside hidden states: rows of the embedding
// and of the output matrix, and what tells the target from others. Immutable; thread safe.
#ifndef HUNCH_TRAIN_TARGET_ROWS_H_
#define HUNCH_TRAIN_TARGET_ROWS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "draft/head_file.h"
#include "model/config.h"
#include "seq/types.h"
#include "tokenizer/tokenizer.h"
#include "weights/fingerprint.h"
#include "weights/gguf.h"

namespace hunch {

class TargetRows {
 public:
  // Checks all of the file's weights. kUnsupported: its hidden size is no multiple of 32.
  static Result<TargetRows> Open(std::shared_ptr<const GgufFile> file);

  const ModelConfig& config() const { return config_; }
  const std::shared_ptr<const GgufFile>& file() const { return file_; }
  // out[hidden]; token < config().vocab.
  void Embedding(TokenId token, float* out) const { Row(*embedding_, token, out); }
  void Output(TokenId token, float* out) const { Row(*output_, token, out); }
  std::vector<float> OutputNorm() const;  // [hidden]

  uint64_t Fingerprint() const { return FingerprintOf(*file_); }
  HeadTarget AsHeadTarget(const VocabularyId& vocabulary) const;

 private:
  TargetRows() = default;
  void Row(const GgufTensor& tensor, TokenId token, float* out) const;

  std::shared_ptr<const GgufFile> file_;
  ModelConfig config_;
  const GgufTensor* embedding_ = nullptr;  // [vocab][hidden]
  const GgufTensor* output_ = nullptr;     // [vocab][hidden]; may be the same
};

}  // namespace hunch

#endif  // HUNCH_TRAIN_TARGET_ROWS_H_

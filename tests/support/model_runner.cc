#include "support/model_runner.h"

#include <algorithm>

#include "support/files.h"

namespace hunch {

ModelRunner::ModelRunner(const std::string& path, int threads, KvType kv, int slots)
    : pool_(threads) {
  auto file = GgufFile::Open(path);
  HUNCH_CHECK(file.ok()) << file.error().message;
  auto model = Model::Load(std::move(file).value(), pool_, {.max_rows = 64, .max_logit_rows = 64});
  HUNCH_CHECK(model.ok()) << model.error().message;
  model_ = std::move(model).value();
  const int blocks = (slots + kKvBlock - 1) / kKvBlock;
  kv_ = ModelKv::Create(model_->config(), kv, blocks).value();
  // Odd blocks backwards, then even ones: no two neighbours in the table are neighbours in memory.
  for (int block = blocks - 1; block >= 0; --block) {
    if (block % 2 == 1) blocks_.push_back(block);
  }
  for (int block = 0; block < blocks; block += 2) blocks_.push_back(block);
}

std::vector<LogitsRow> ModelRunner::Read(int committed, std::span<const TokenId> tokens,
                                         std::span<const int32_t> parents,
                                         std::span<const HiddenTap> taps) {
  const SequenceRows rows = {.blocks = blocks_,
                             .committed = committed,
                             .tokens = tokens,
                             .parents = parents,
                             .logits_from = 0};
  const float* logits = model_->Forward({&rows, 1}, kv_, taps).rows;
  const int vocab = model_->config().vocab;
  std::vector<LogitsRow> result;
  for (size_t r = 0; r < tokens.size(); ++r) {
    result.emplace_back(logits + r * vocab, logits + (r + 1) * vocab);
  }
  return result;
}

std::vector<LogitsRow> ModelRunner::ReadAll(std::span<const TokenId> tokens, int chunk) {
  std::vector<LogitsRow> result;
  for (size_t at = 0; at < tokens.size(); at += chunk) {
    const size_t count = std::min<size_t>(chunk, tokens.size() - at);
    for (auto& row : Read(static_cast<int>(at), tokens.subspan(at, count))) {
      result.push_back(std::move(row));
    }
  }
  return result;
}

std::string TinyModelPath(const std::string& name) { return GoldenPath("tiny/" + name + ".gguf"); }

}  // namespace hunch

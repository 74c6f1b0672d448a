// A real model with its KV memory, driven by hand: read tokens in any cut, take logits rows. Not
// thread safe.
#ifndef HUNCH_TESTS_SUPPORT_MODEL_RUNNER_H_
#define HUNCH_TESTS_SUPPORT_MODEL_RUNNER_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "model/model.h"

namespace hunch {

using LogitsRow = std::vector<float>;

class ModelRunner {
 public:
  // CHECKs that the file loads. Room for `slots` tokens.
  explicit ModelRunner(const std::string& path, int threads = 2, KvType kv = KvType::kF16,
                       int slots = 2048);

  // Reads tokens after the first `committed` slots; `parents` as in SequenceRows. The rows' logits,
  // of every row.
  std::vector<LogitsRow> Read(int committed, std::span<const TokenId> tokens,
                              std::span<const int32_t> parents = {},
                              std::span<const HiddenTap> taps = {});
  // A whole sequence from an empty cache, in passes of at most `chunk` rows.
  std::vector<LogitsRow> ReadAll(std::span<const TokenId> tokens, int chunk);

  Model& model() { return *model_; }
  ModelKv& kv() { return kv_; }
  std::span<const int32_t> blocks() const { return blocks_; }

 private:
  ThreadPool pool_;
  std::unique_ptr<Model> model_;
  ModelKv kv_;
  std::vector<int32_t> blocks_;  // deliberately not in ascending order
};

// The path of tests/golden/tiny/<name>.gguf.
std::string TinyModelPath(const std::string& name);
inline constexpr const char* kTinyModels[] = {"llama", "llama_f16", "llama3_rope", "qwen2",
                                              "qwen3"};

}  // namespace hunch

#endif  // HUNCH_TESTS_SUPPORT_MODEL_RUNNER_H_

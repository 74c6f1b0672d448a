// What a GGUF file says of a model's shape, checked. Known architectures: llama, qwen2, qwen3.
#ifndef HUNCH_MODEL_CONFIG_H_
#define HUNCH_MODEL_CONFIG_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "weights/gguf.h"

namespace hunch {

struct ModelConfig {
  std::string architecture;
  int layers = 0;
  int hidden = 0;
  int ffn = 0;
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  int vocab = 0;  // rows of the embedding: may exceed the tokenizer's vocabulary (padding)
  int context_length = 0;
  float norm_eps = 0;
  bool rope_neox = false;                // pairs (i, i + n/2) instead of (2i, 2i + 1)
  std::vector<double> rope_frequencies;  // [rope pairs], scaling applied

  int q_size() const { return heads * head_dim; }
  int kv_size() const { return kv_heads * head_dim; }
  int rope_pairs() const { return static_cast<int>(rope_frequencies.size()); }
};

// Fails with kUnsupported, naming what is not known and what would be, or kBadFile.
Result<ModelConfig> ReadModelConfig(const GgufFile& file);

}  // namespace hunch

#endif  // HUNCH_MODEL_CONFIG_H_

// A model's weights in memory: matrices repacked for the kernels, vectors widened to fp32.
// Immutable and thread safe once loaded.
#ifndef HUNCH_MODEL_WEIGHTS_H_
#define HUNCH_MODEL_WEIGHTS_H_

#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "kernels/matmul.h"
#include "model/config.h"
#include "seq/types.h"
#include "weights/gguf.h"

namespace hunch {

struct LayerWeights {
  std::vector<float> attn_norm, ffn_norm;     // [hidden]
  std::vector<float> q_norm, k_norm;          // [head_dim], qwen3 only
  std::vector<float> q_bias, k_bias, v_bias;  // [q_size], [kv_size], [kv_size]; empty: none
  PackedMatrix q, k, v;                       // [q_size | kv_size][hidden]
  PackedMatrix o;                             // [hidden][q_size]
  PackedMatrix gate, up;                      // [ffn][hidden]
  PackedMatrix down;                          // [hidden][ffn]
};

// What a load leaves out, for models that only guess: the target's own text must come from its file
// as it is.
struct LoadOptions {
  // Matrices with more than 4 bits a weight become Q4_0 (their columns must be a multiple of 32:
  // others stay). The embedding does not: a pass reads a row of it for each token, no more.
  bool requantize_q4_0 = false;
  // The rows of the output matrix to keep (FR-Spec, arXiv 2502.14856): token ids, ascending, each
  // once. A logits row then has as many columns, and column i is token kept_tokens[i]. Empty: all.
  std::vector<TokenId> kept_tokens;

  bool changes_nothing() const { return !requantize_q4_0 && kept_tokens.empty(); }
};

struct ModelWeights {
  // All packed matrices, in the order in which a pass reads them: one buffer, so that all but its
  // end lies in huge pages (of the 1.5B's own buffers 15 % did not: 8 % slower at one row).
  AlignedBuffer memory;
  std::vector<LayerWeights> layers;
  std::vector<float> output_norm;  // [hidden]
  PackedMatrix output;             // [vocab or kept_tokens][hidden]; the embedding too when `tied`
  bool tied = false;
  // The embedding when it is not tied, or when the output matrix is not what the file has: left in
  // the file, since a step reads one row per token of it.
  const GgufTensor* embedding = nullptr;

  // out[hidden] = the embedding of a token; token < vocab.
  void Embed(int32_t token, float* out) const;
};

// Checks every tensor's presence and shape, from the header alone, and refuses tensors that the
// architecture has no use for, since leaving one out would change the text.
Status CheckWeights(const GgufFile& file, const ModelConfig& config);

// kInvalidArgument unless kept_tokens are ascending ids below config.vocab.
Status CheckLoadOptions(const LoadOptions& options, const ModelConfig& config);

// Checks weights and options. Drops the file's pages as it goes.
Result<ModelWeights> LoadWeights(const GgufFile& file, const ModelConfig& config, ThreadPool& pool,
                                 const LoadOptions& options = {});

// The bytes that LoadWeights will hold, from the header alone. While it runs it needs up to
// LoadScratchBytes more.
uint64_t WeightBytes(const GgufFile& file, const LoadOptions& options = {});
uint64_t LoadScratchBytes(const GgufFile& file, const LoadOptions& options);

}  // namespace hunch

#endif  // HUNCH_MODEL_WEIGHTS_H_

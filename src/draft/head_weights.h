// The weights of a head of kind eagle3 or eagle in memory: its layer as a model of one layer has
// it, and what is around that. Immutable and thread safe once loaded.
#ifndef HUNCH_DRAFT_HEAD_WEIGHTS_H_
#define HUNCH_DRAFT_HEAD_WEIGHTS_H_

#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "draft/head_file.h"
#include "model/config.h"
#include "model/weights.h"
#include "weights/gguf.h"

namespace hunch {

struct HeadWeights {
  // layers[0], output_norm and output; attn_norm is that of the embedding. q, k and v have the
  // columns of the head file: [2 * hidden] of eagle3. eagle has neither norm, and output only where
  // it guesses some tokens of the target's: their rows of the target's output matrix.
  ModelWeights layer;
  std::vector<float> hidden_norm;  // [hidden], of eagle3
  PackedMatrix fc;                 // [hidden][taps * hidden], of eagle [hidden][2 * hidden]
  std::vector<float> fc_bias;      // [hidden]; empty: none
};

// The shape of the head's layer, for a forward pass. context: its positions.
ModelConfig HeadLayerConfig(const HeadConfig& config, int context);

// `config` is what ReadHeadConfig gave of the file, `target` the file of the head's target.
Result<HeadWeights> LoadHeadWeights(const GgufFile& file, const HeadConfig& config,
                                    const GgufFile& target, ThreadPool& pool);

// The bytes that LoadHeadWeights will hold, from the headers alone.
uint64_t HeadWeightBytes(const GgufFile& file, const HeadConfig& config, const GgufFile& target);

}  // namespace hunch

#endif  // HUNCH_DRAFT_HEAD_WEIGHTS_H_

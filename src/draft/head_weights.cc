#include "draft/head_weights.h"

#include <string>

#include "draft/head_loader.h"
#include "kernels/ops.h"
#include "model/shrink.h"

namespace hunch {
namespace {

// The target's matrix of which an eagle head takes the rows of its tokens.
const GgufTensor& OutputOf(const GgufFile& target) {
  const GgufTensor* const output = target.FindTensor("output.weight");
  return output != nullptr ? *output : *target.FindTensor("token_embd.weight");
}
bool CutsOutput(const HeadConfig& config) {
  return config.kind == HeadKind::kEagle && !config.tokens.empty();
}

Result<PackedMatrix> CutOutput(const GgufFile& target, const HeadConfig& config, ThreadPool& pool) {
  const GgufTensor& output = OutputOf(target);
  const MatrixForm form = {output.type, config.tokens};
  HUNCH_ASSIGN_OR_RETURN(const AlignedBuffer cut, Shrink(output, form, pool));
  return PackedMatrix::Pack(form.type, form.rows(output), output.columns(),
                            {cut.data(), cut.size()}, pool);
}

}  // namespace

ModelConfig HeadLayerConfig(const HeadConfig& config, int context) {
  ModelConfig layer = {.architecture = std::string(HeadKindName(config.kind)),
                       .layers = 1,
                       .hidden = config.target.hidden,
                       .ffn = config.ffn,
                       .heads = config.heads,
                       .kv_heads = config.kv_heads,
                       .head_dim = config.head_dim,
                       .vocab = config.target.vocabulary.size,
                       .context_length = context,
                       .norm_eps = config.norm_eps,
                       .rope_neox = true,
                       .rope_frequencies = std::vector<double>(config.head_dim / 2)};
  RopeFrequencies(config.rope_theta, config.head_dim, layer.rope_frequencies.data());
  return layer;
}

Result<HeadWeights> LoadHeadWeights(const GgufFile& file, const HeadConfig& config,
                                    const GgufFile& target, ThreadPool& pool) {
  using namespace head_tensors;
  HeadWeights weights;
  HUNCH_ASSIGN_OR_RETURN(weights.layer.memory,
                         AlignedBuffer::Create(HeadMatrixBytes(file, config)));
  HeadLoader loader(file, pool, weights.layer.memory);
  LayerWeights& layer = weights.layer.layers.emplace_back();
  layer.attn_norm = loader.Vector(kAttnNorm);
  layer.ffn_norm = loader.Vector(kFfnNorm);
  weights.hidden_norm = loader.Vector(kHiddenNorm);
  weights.fc_bias = loader.Vector(kFcBias);
  weights.layer.output_norm = loader.Vector(kOutputNorm);
  // In the order in which a pass reads them.
  HUNCH_RETURN_IF_ERROR(loader.Take(kFc, weights.fc));
  HUNCH_RETURN_IF_ERROR(loader.Take(kQ, layer.q));
  HUNCH_RETURN_IF_ERROR(loader.Take(kK, layer.k));
  HUNCH_RETURN_IF_ERROR(loader.Take(kV, layer.v));
  HUNCH_RETURN_IF_ERROR(loader.Take(kAttnOutput, layer.o));
  HUNCH_RETURN_IF_ERROR(loader.Take(kFfnGate, layer.gate));
  HUNCH_RETURN_IF_ERROR(loader.Take(kFfnUp, layer.up));
  HUNCH_RETURN_IF_ERROR(loader.Take(kFfnDown, layer.down));
  HUNCH_RETURN_IF_ERROR(loader.Take(kOutput, weights.layer.output));
  if (CutsOutput(config)) {
    HUNCH_ASSIGN_OR_RETURN(weights.layer.output, CutOutput(target, config, pool));
  }
  return weights;
}

uint64_t HeadWeightBytes(const GgufFile& file, const HeadConfig& config, const GgufFile& target) {
  uint64_t bytes = HeadMatrixBytes(file, config) + HeadVectorBytes(config);
  if (CutsOutput(config)) {
    const GgufTensor& output = OutputOf(target);
    bytes += PackedMatrix::PackedBytes(output.type, config.output_rows(), output.columns());
  }
  return bytes;
}

}  // namespace hunch

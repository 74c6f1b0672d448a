#include "model/step_cost.h"

namespace hunch {
namespace {

void AddMatrix(const PackedMatrix& matrix, int rows, StepCost& cost) {
  cost.bytes += static_cast<double>(matrix.bytes());
  cost.macs += static_cast<double>(matrix.rows() * matrix.columns()) * rows;
}

void AddVector(const std::vector<float>& vector, StepCost& cost) {
  cost.bytes += static_cast<double>(vector.size() * sizeof(float));
}

}  // namespace

StepCost CostOfPass(const ModelConfig& config, const ModelWeights& weights, KvType kv_type,
                    int context, int rows, int logit_rows) {
  StepCost cost;
  for (const LayerWeights& layer : weights.layers) {
    for (const PackedMatrix* matrix :
         {&layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up, &layer.down}) {
      AddMatrix(*matrix, rows, cost);
    }
    for (const std::vector<float>* vector :
         {&layer.attn_norm, &layer.ffn_norm, &layer.q_norm, &layer.k_norm, &layer.q_bias,
          &layer.k_bias, &layer.v_bias}) {
      AddVector(*vector, cost);
    }
  }
  AddVector(weights.output_norm, cost);
  if (logit_rows > 0) AddMatrix(weights.output, logit_rows, cost);

  const double block_bytes = static_cast<double>(ModelKv::Bytes(config, kv_type, 1));
  cost.bytes += block_bytes / kSlotsPerBlock * (context + rows);
  // Row i sees context + i + 1 positions.
  const double seen = static_cast<double>(rows) * context + 0.5 * rows * (rows + 1.0);
  cost.macs += 2.0 * config.layers * config.q_size() * seen;
  return cost;
}

}  // namespace hunch

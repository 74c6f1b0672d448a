// Bytes and multiply-adds of a pass against numbers worked out by hand.
#include "model/step_cost.h"

#include <gtest/gtest.h>

#include "support/model_runner.h"

namespace hunch {
namespace {

StepCost CostOn(const char* name, KvType kv, int context, int rows, int logit_rows) {
  ModelRunner runner(TinyModelPath(name), 1);
  const Model& model = runner.model();
  return CostOfPass(model.config(), model.weights(), kv, context, rows, logit_rows);
}

// Two layers, hidden 64, ffn 80, 4 heads on 2 KV heads of 16, 288 tied embeddings, all F32.
//   weights of a layer: q 64 x 64, k and v 32 x 64, o 64 x 64, gate and up 80 x 64, down 64 x 80
constexpr double kLlamaLayer = 4096 + 2 * 2048 + 4096 + 2 * 5120 + 5120;
constexpr double kLlamaOutput = 288 * 64;
constexpr double kLlamaNorms = 2 * 2 * 64 + 64;

TEST(StepCost, CountsEachWeightOnceInBytesAndPerRowInMacs) {
  const StepCost cost = CostOn("llama", KvType::kF16, 10, 3, 2);
  const double kv_bytes = 2 * 2 * 32 * 2;  // of a position: layers, k and v, elements, f16
  EXPECT_EQ(cost.bytes, 4 * (2 * kLlamaLayer + kLlamaOutput + kLlamaNorms) + 13 * kv_bytes);
  // Rows see 11, 12 and 13 positions.
  EXPECT_EQ(cost.macs, 3 * 2 * kLlamaLayer + 2 * kLlamaOutput + 2 * 2 * 64 * (11 + 12 + 13));
}

TEST(StepCost, WithoutLogitsThereIsNoOutputMatrix) {
  const StepCost cost = CostOn("llama", KvType::kF32, 0, 1, 0);
  EXPECT_EQ(cost.bytes, 4 * (2 * kLlamaLayer + kLlamaNorms) + 2 * 2 * 32 * 4);
  EXPECT_EQ(cost.macs, 2 * kLlamaLayer + 2 * 2 * 64);
}

// Hidden 48, ffn 72 (packed as 80 rows), 3 heads on 1 KV head of 16, biases, separate output.
TEST(StepCost, CountsPaddingAndBiasesAsBytesAndNoEmbedding) {
  const StepCost cost = CostOn("qwen2", KvType::kF16, 0, 1, 1);
  const double attention = 48 * 48 + 2 * 16 * 48 + 48 * 48, down = 48 * 72, output = 288 * 48;
  const double vectors = 2 * (2 * 48 + 48 + 16 + 16) + 48;
  EXPECT_EQ(cost.bytes,
            4 * (2 * (attention + 2 * 80 * 48 + down) + output + vectors) + 2 * 2 * 16 * 2);
  EXPECT_EQ(cost.macs, 2 * (attention + 2 * 72 * 48 + down) + output + 2 * 2 * 48);
}

}  // namespace
}  // namespace hunch

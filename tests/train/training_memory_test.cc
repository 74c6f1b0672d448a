#include "train/training_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hunch {
namespace {

using testing::HasSubstr;

TEST(TrainingMemory, GrowsWithWhatItNames) {
  HeadConfig config = {.target = {.hidden = 64, .layers = 4},
                       .taps = {0, 1, 2},
                       .heads = 4,
                       .kv_heads = 2,
                       .head_dim = 16,
                       .ffn = 80};
  config.tokens.resize(100);
  TrainOptions options;
  const TrainingMemory base = MemoryToTrain(config, options, 400);
  options.batch_tokens *= 2;
  const TrainingMemory wide = MemoryToTrain(config, options, 400);
  EXPECT_EQ(wide.weights, base.weights);
  EXPECT_EQ(wide.scores, 2 * base.scores);
  EXPECT_EQ(wide.activations, 2 * base.activations);
  // The least that 2048 rows over 100 tokens take in three steps.
  EXPECT_GE(base.scores, uint64_t{2048} * 100 * 4 * 3);
  EXPECT_TRUE(CheckTrainingFits(base, base.total()).ok());
  EXPECT_THAT(CheckTrainingFits(base, base.total() - 1).error().message,
              HasSubstr("lower --batch-tokens or --head-tokens"));
}

}  // namespace
}  // namespace hunch

#include "train/training_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/model_runner.h"

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
  TrainOptions options = {.batch_tokens = 2048};
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

TEST(TrainingMemory, OfADraftModelGrowsWithItsLayers) {
  const TargetRows target =
      TargetRows::Open(GgufFile::Open(TinyModelPath("llama")).value()).value();
  const auto memory_of = [&](std::vector<int> layers) {
    const auto draft =
        DraftStudent::Create(target.file(), std::move(layers), target, {7, 288}).value();
    return MemoryToTrain(*draft, target.config().hidden, TrainOptions{.batch_tokens = 2048}, 400);
  };
  const TrainingMemory one = memory_of({1}), two = memory_of({2});
  // Values, gradients and two moments of what the second layer has more.
  uint64_t more = 0;
  for (const GgufTensor& tensor : target.file()->tensors()) {
    if (tensor.name.starts_with("blk.1.")) more += tensor.elements() * 16;
  }
  EXPECT_GE(two.weights, one.weights + more);
  EXPECT_EQ(two.activations, one.activations + uint64_t{2048} * target.config().hidden * 4);
  EXPECT_EQ(two.scores, one.scores);
  EXPECT_THAT(CheckTrainingFits(two, two.total() - 1).error().message,
              HasSubstr("lower --batch-tokens or --layers"));
}

}  // namespace
}  // namespace hunch

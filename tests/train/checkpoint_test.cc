#include "train/checkpoint.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/fake_head_trainer.h"
#include "support/tiny_training.h"

namespace hunch {
namespace {

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() {
    written_.state = FakeHeadTrainer(config_).State();
    written_.state.updates = 12;
    written_.state.weights[3].mean[1] = 0x1.234568p-20f;
    HUNCH_CHECK(WriteCheckpoint(path_, written_).ok());
  }

  TinyTraining tiny_{4};
  const HeadConfig config_ = tiny_.Eagle3Config();
  const std::vector<HeadTensor> tensors_ = HeadTensors(config_);
  const std::string path_ = tiny_.dir().Path("checkpoint");
  Checkpoint written_ = {
      .settings = "these",
      .position = {.update = 3,
                   .tokens = 1 << 20,
                   .seconds = 0.1,
                   .loss_sum = 1.0 / 3,
                   .loss_count = 2,
                   .best = 1.5,
                   .stale = 1,
                   .precision = Precision::kBf16,
                   .curve = {{10, 0.5, 0.1, 1.25, {0.1, 0.2}}, {20, 1, 0.7, 1.5, {0.3, 0.4}}}},
      .state = {}};
};

TEST_F(CheckpointTest, ComesBackToTheBit) {
  const auto read = ReadCheckpoint(path_, tensors_, "these");
  ASSERT_TRUE(read.ok()) << read.error().message;
  const TrainPosition &a = read->position, &b = written_.position;
  EXPECT_EQ(a.update, b.update);
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.seconds, b.seconds);
  EXPECT_EQ(a.loss_sum, b.loss_sum);
  EXPECT_EQ(a.loss_count, b.loss_count);
  EXPECT_EQ(a.best, b.best);
  EXPECT_EQ(a.stale, b.stale);
  EXPECT_EQ(a.precision, b.precision);
  ASSERT_EQ(a.curve.size(), 2u);
  EXPECT_EQ(a.curve[1].tokens, 20);
  EXPECT_EQ(a.curve[1].loss, 0.7);
  EXPECT_EQ(a.curve[0].right, b.curve[0].right);
  EXPECT_EQ(a.curve[1].right, b.curve[1].right);
  EXPECT_EQ(read->state.updates, 12);
  ASSERT_EQ(read->state.weights.size(), written_.state.weights.size());
  for (size_t i = 0; i < read->state.weights.size(); ++i) {
    EXPECT_EQ(read->state.weights[i].value, written_.state.weights[i].value);
    EXPECT_EQ(read->state.weights[i].mean, written_.state.weights[i].mean);
  }
}

TEST_F(CheckpointTest, OfAnotherTrainingIsRefused) {
  EXPECT_FALSE(ReadCheckpoint(path_, tensors_, "those").ok());
  HeadConfig other = config_;
  other.ffn *= 2;
  EXPECT_EQ(ReadCheckpoint(path_, HeadTensors(other), "these").error().code, ErrorCode::kBadFile);
  EXPECT_FALSE(ReadCheckpoint(TinyModelPath("llama"), tensors_, "these").ok());
}

TEST_F(CheckpointTest, CutShortItIsRefused) {
  const std::string whole = ReadFile(path_);
  for (size_t length = 0; length < whole.size(); length += 997) {
    tiny_.dir().Write("checkpoint", std::string_view(whole).substr(0, length));
    EXPECT_FALSE(ReadCheckpoint(path_, tensors_, "these").ok()) << length;
  }
}

}  // namespace
}  // namespace hunch

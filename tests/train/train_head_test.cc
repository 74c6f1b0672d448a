// The loop: what is judged, kept and stopped when, with a trainer that only counts.
#include "train/train_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <limits>

#include "support/fake_head_trainer.h"
#include "support/tiny_training.h"
#include "train/export_head.h"
#include "train/head_student.h"

namespace hunch {
namespace {

using testing::HasSubstr;

class TrainHeadTest : public testing::Test {
 protected:
  TrainHeadTest() {
    options_.epochs = 4;
    options_.batch_tokens = 150;
    options_.precision = Precision::kF32;
  }
  Result<TrainOutcome> Train(FakeHeadTrainer& trainer, const OnTrain& on_train = {}) {
    HeadStudent student(config_, tiny_.target(), from_);
    const TrainTask task = {student, tiny_.set(), tiny_.features(), tiny_.dir().Path("checkpoint"),
                            head_};
    return TrainHead(options_, task, trainer, on_train, {});
  }
  void BeginAnew() {
    std::filesystem::remove(tiny_.dir().Path("checkpoint"));
    std::filesystem::remove(head_);
  }

  TinyTraining tiny_;
  const HeadConfig config_ = tiny_.Eagle3Config();
  const std::string head_ = tiny_.dir().Path("head.gguf");
  TrainOptions options_;
  std::optional<HeadState> from_;
};

TEST_F(TrainHeadTest, JudgesEachEpochAndLeavesAHead) {
  FakeHeadTrainer trainer(config_);
  trainer.guess = [] { return -1; };
  std::vector<int64_t> judged;
  const auto outcome = Train(trainer, [&](const TrainReport& report) {
    if (report.judged != nullptr) judged.push_back(report.update);
    return true;
  });
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_TRUE(outcome->finished);
  // Nothing comes true, so the first stays the best and three more end it.
  ASSERT_EQ(judged.size(), 4u);
  EXPECT_EQ(judged[3], 4 * judged[0]);
  EXPECT_EQ(outcome->position.curve.size(), 4u);
  EXPECT_EQ(outcome->position.curve[0].loss, 2);
  EXPECT_EQ(outcome->position.curve[0].tokens, tiny_.set().learned_tokens);
  EXPECT_EQ(outcome->position.best, 1);
  const auto file = GgufFile::Open(head_).value();
  EXPECT_TRUE(ReadHeadConfig(*file).ok());
}

TEST_F(TrainHeadTest, GoesOnToTheSameBitsAfterAnyStop) {
  FakeHeadTrainer whole(config_);
  ASSERT_TRUE(Train(whole)->finished);
  for (const int64_t stop : {1, 5, 9, 10, 11}) {
    BeginAnew();
    FakeHeadTrainer first(config_);
    EXPECT_FALSE(
        Train(first, [&](const TrainReport& report) { return report.update < stop; })->finished);
    FakeHeadTrainer second(config_);
    const auto outcome = Train(second);
    EXPECT_TRUE(outcome->finished);
    EXPECT_EQ(second.State().updates, whole.State().updates);
    EXPECT_EQ(second.State().weights.back().value, whole.State().weights.back().value) << stop;
    EXPECT_EQ(outcome->position.curve.size(), 4u);
  }
}

TEST_F(TrainHeadTest, EndsWhenItGetsNoBetterAndKeepsTheBest) {
  options_.epochs = 50;
  options_.patience = 2;
  options_.type = TensorType::kF32;
  FakeHeadTrainer trainer(config_);
  // Right for some tokens in the second epoch only.
  const TokenId common = tiny_.set().held_out[0].text->answer()[3];
  int calls = 0;
  const int texts = static_cast<int>(tiny_.set().held_out.size());
  trainer.guess = [&] { return calls++ / texts == 1 ? common : -1; };
  float best = 0;
  const auto outcome = Train(trainer, [&](const TrainReport& report) {
    if (report.judged != nullptr && report.judged->tokens_per_pass > 1) {
      best = trainer.State().weights.back().value[0];
    }
    return true;
  });
  EXPECT_TRUE(outcome->finished);
  ASSERT_EQ(outcome->position.curve.size(), 4u);
  EXPECT_EQ(outcome->position.best, outcome->position.curve[1].tokens_per_pass);
  EXPECT_NE(best, trainer.State().weights.back().value[0]);
  const auto file = GgufFile::Open(head_).value();
  float exported;
  std::memcpy(&exported, file->FindTensor("output.weight")->data.data(), sizeof(exported));
  EXPECT_EQ(exported, best);
}

TEST_F(TrainHeadTest, TakesTheFasterPrecisionAndKeepsIt) {
  options_.precision.reset();
  FakeHeadTrainer trainer(config_);
  ASSERT_FALSE(Train(trainer, [](const TrainReport&) { return false; })->finished);
  EXPECT_EQ(trainer.precision(), Precision::kBf16);
  FakeHeadTrainer other(config_);
  other.bf16_seconds = 9;  // whatever would be measured now
  ASSERT_TRUE(Train(other)->finished);
  EXPECT_EQ(other.precision(), Precision::kBf16);
}

TEST_F(TrainHeadTest, DoesNotMixSettings) {
  FakeHeadTrainer trainer(config_);
  ASSERT_TRUE(Train(trainer).ok());
  options_.learning_rate = 1;
  EXPECT_THAT(Train(trainer).error().message, HasSubstr("was made with other settings"));
}

TEST_F(TrainHeadTest, GoesOnFromAHeadThatThereIs) {
  options_.type = TensorType::kF32;
  options_.epochs = 1;
  FakeHeadTrainer first(config_);
  ASSERT_TRUE(Train(first)->finished);
  const auto file = GgufFile::Open(head_).value();
  const HeadState state = ImportHead(*file, ReadHeadConfig(*file).value());
  BeginAnew();
  from_ = state;
  FakeHeadTrainer second(config_);
  // It is judged before the first update.
  const auto judged = Train(second, [](const TrainReport& report) {
    EXPECT_NE(report.judged, nullptr);
    return false;
  });
  ASSERT_FALSE(judged->finished);
  ASSERT_EQ(judged->position.curve.size(), 1u);
  EXPECT_EQ(judged->position.curve[0].tokens, 0);
  EXPECT_EQ(second.State().updates, 0);
  EXPECT_TRUE(std::filesystem::exists(head_));
  // Taps are scaled in training and not in the file.
  const auto fc = second.State().weights[0].value, before = first.State().weights[0].value;
  for (size_t i = 0; i < fc.size(); ++i) EXPECT_NEAR(fc[i], before[i], 1e-6);
  EXPECT_NE(state.weights[0].value, before);
  const auto outcome = Train(second);  // goes on, and is not judged at the beginning again
  ASSERT_TRUE(outcome->finished);
  EXPECT_EQ(outcome->position.curve.size(), 2u);
  from_.reset();
  FakeHeadTrainer third(config_);
  EXPECT_THAT(Train(third).error().message, HasSubstr("was made with other settings"));
}

TEST_F(TrainHeadTest, SaysWhenTheLossIsLost) {
  FakeHeadTrainer trainer(config_);
  trainer.loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(Train(trainer).error().message, HasSubstr("lower --learning-rate"));
  EXPECT_FALSE(std::filesystem::exists(tiny_.dir().Path("checkpoint")));
}

}  // namespace
}  // namespace hunch

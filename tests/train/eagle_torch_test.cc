// Training of eagle3 and eagle heads: the loss and its gradients against plain loops, that it
// falls, that a run goes on to the same bits, and that what is exported is a head.
#include "train/eagle_torch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>

#include "support/plain_eagle.h"
#include "support/tiny_training.h"
#include "train/head_student.h"
#include "train/train_head.h"

namespace hunch {
namespace {

class EagleTest : public testing::Test {
 protected:
  TinyTraining tiny_;
  const HeadConfig config_ = tiny_.Eagle3Config();
  const HeadStart start_ = tiny_.Start(config_);
};

// Every weight's gradient, in its first, its last and another number, against plain's differences.
void ExpectPlainGradients(const HeadStart& start, const HeadBatch& batch, int tokens) {
  const HeadState state = MakeEagleTrainer(start)->State();
  PlainEagle plain(start, state);
  for (const WeightState& weight : state.weights) {
    const std::string& name = weight.tensor.name;
    const LossAndGradient found = EagleGradient(start, state, batch, name);
    EXPECT_NEAR(found.loss, plain.Loss(batch, tokens), 1e-5);
    double largest = 0;
    for (const float slope : found.gradient) largest = std::max(largest, std::fabs(double{slope}));
    EXPECT_GT(largest, 0) << name;
    for (const size_t at : {size_t{0}, found.gradient.size() / 3, found.gradient.size() - 1}) {
      constexpr double kStep = 1e-4;
      double& number = plain.weight(name)[at];
      const double before = number;
      number = before + kStep;
      const double above = plain.Loss(batch, tokens);
      number = before - kStep;
      const double below = plain.Loss(batch, tokens);
      number = before;
      EXPECT_NEAR(found.gradient[at], (above - below) / (2 * kStep), 1e-3 * largest)
          << name << " " << at;
    }
  }
}

TEST_F(EagleTest, LossAndGradientsAreThoseOfChainsMadeOneByOne) {
  ExpectPlainGradients(start_, tiny_.Batch(1, 1, 3), tiny_.set().learned[1].text->size());
}

TEST_F(EagleTest, SoAreThoseOfTheKindEagle) {
  HeadConfig config = config_;
  config.kind = HeadKind::kEagle;
  config.taps = {tiny_.target().config().layers};
  // Its feature is what the target's output matrix reads, at every position.
  HeadBatch batch = tiny_.Batch(1, 1, 3);
  const TrainText& text = *tiny_.set().learned[1].text;
  std::vector<std::byte> rows;
  ASSERT_TRUE(tiny_.features().Read(tiny_.set().learned[1], rows).ok());
  const FeatureLayout& layout = tiny_.features().layout();
  batch.tap_size = batch.hidden;
  batch.taps.resize(static_cast<size_t>(batch.rows()) * batch.hidden);
  for (int p = 0; p < batch.rows(); ++p) {
    UnpackFeature(layout, &rows[p * layout.row_bytes()], 2,
                  &batch.taps[static_cast<size_t>(p) * batch.hidden]);
  }
  ExpectPlainGradients(tiny_.Start(config), batch, text.size());
}

TEST_F(EagleTest, ANewHeadReadsTheLastTapAndLooksAtItsOwnPosition) {
  const auto trainer = MakeEagleTrainer(start_);
  const HeadState state = trainer->State();
  const auto numbers = [&](std::string_view name) -> const std::vector<float>& {
    return std::ranges::find(state.weights, name,
                             [](const WeightState& weight) { return weight.tensor.name; })
        ->value;
  };
  const int64_t hidden = config_.target.hidden, taps = config_.tap_size();
  for (int64_t row = 0; row < hidden; ++row) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      const float wanted = tap == taps - hidden + row ? 1 : 0;
      EXPECT_EQ(numbers(head_tensors::kFc)[row * taps + tap], wanted);
    }
  }
  const std::vector<float>& keys = numbers(head_tensors::kK);
  const std::vector<float>& queries = numbers(head_tensors::kQ);
  const int64_t of_head = config_.head_dim * 2 * hidden;
  for (int head = 0; head < config_.heads; ++head) {
    const int64_t kv_head = head / (config_.heads / config_.kv_heads);
    EXPECT_TRUE(std::equal(keys.begin() + kv_head * of_head, keys.begin() + (kv_head + 1) * of_head,
                           queries.begin() + head * of_head));
  }
  double squares = 0;
  const std::vector<float>& norm = numbers(head_tensors::kOutputNorm);
  for (size_t i = 0; i < start_.output.size(); ++i) {
    squares += std::pow(double{start_.output[i]} * norm[i % hidden], 2);
  }
  EXPECT_NEAR(std::sqrt(squares / config_.output_rows()), 1.6, 1e-3);
}

TEST_F(EagleTest, TextsOfABatchDoNotSeeEachOther) {
  const HeadState state = MakeEagleTrainer(start_)->State();
  double sum = 0, answers = 0;
  for (int text = 0; text < 3; ++text) {
    const HeadBatch alone = tiny_.Batch(text, 1, 3);
    sum += EagleGradient(start_, state, alone, "fc.weight").loss * alone.answers();
    answers += alone.answers();
  }
  const LossAndGradient together = EagleGradient(start_, state, tiny_.Batch(0, 3, 3), "fc.weight");
  EXPECT_NEAR(together.loss, sum / answers, 1e-5);
}

TEST_F(EagleTest, TheLossFallsInBothPrecisions) {
  const HeadBatch batch = tiny_.Batch(0, 8, 3);
  for (const Precision precision : {Precision::kF32, Precision::kBf16}) {
    const auto trainer = MakeEagleTrainer(start_);
    trainer->SetPrecision(precision);
    const double before = trainer->Update(batch, 3e-3);
    double after = before;
    for (int update = 0; update < 40; ++update) after = trainer->Update(batch, 3e-3);
    // What is left is the target's own entropy: it cannot fall to nothing.
    EXPECT_LT(after, before - 0.05) << PrecisionName(precision);
  }
}

TEST_F(EagleTest, TimingAnUpdateMakesNone) {
  const HeadBatch batch = tiny_.Batch(0, 4, 3);
  const auto trainer = MakeEagleTrainer(start_);
  const HeadState before = trainer->State();
  EXPECT_GT(trainer->TimeUpdate(batch), 0);
  const auto other = MakeEagleTrainer(start_);
  EXPECT_EQ(trainer->Update(batch, 1e-3), other->Update(batch, 1e-3));
  for (size_t i = 0; i < before.weights.size(); ++i) {
    EXPECT_EQ(trainer->State().weights[i].value, other->State().weights[i].value);
  }
}

TEST_F(EagleTest, GoesOnToTheSameBitsAndLeavesAHeadOfItsTarget) {
  TrainOptions options;
  options.epochs = 2;
  options.batch_tokens = 200;
  options.precision = Precision::kBf16;
  const std::string head = tiny_.dir().Path("head.gguf");
  const std::string checkpoint = tiny_.dir().Path("checkpoint");
  const auto train = [&](const OnTrain& on_train) {
    const auto trainer = MakeEagleTrainer(start_);
    HeadStudent student(config_, tiny_.target(), std::nullopt);
    const TrainTask task = {student, tiny_.set(), tiny_.features(), checkpoint, head};
    const auto outcome = TrainHead(options, task, *trainer, on_train, {});
    HUNCH_CHECK(outcome.ok()) << outcome.error().message;
    return trainer->State();
  };
  const HeadState whole = train({});
  std::filesystem::remove(checkpoint);
  train([](const TrainReport& report) { return report.update < 3; });
  const HeadState resumed = train({});
  EXPECT_EQ(resumed.updates, whole.updates);
  for (size_t i = 0; i < whole.weights.size(); ++i) {
    EXPECT_EQ(resumed.weights[i].value, whole.weights[i].value) << whole.weights[i].tensor.name;
  }
  const auto file = GgufFile::Open(head).value();
  const auto read = ReadHeadConfig(*file);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(CheckHeadTarget(*read, head, config_.target, "target").ok());
}

}  // namespace
}  // namespace hunch

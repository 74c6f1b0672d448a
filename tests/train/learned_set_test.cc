// Texts that a server kept, as a training set: the same rows, and what is held out.
#include "train/learned_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_head_trainer.h"
#include "support/tiny_training.h"
#include "train/head_student.h"
#include "train/train_head.h"

namespace hunch {
namespace {

using testing::HasSubstr;

constexpr int kSteps = 5;

class LearnedSetTest : public testing::Test {
 protected:
  // The texts of a tiny training, as a server would have kept them.
  void Keep(int texts) {
    SegmentWriter writer = SegmentWriter::Open(folder_, kind_, 1 << 30).value();
    std::vector<std::byte> rows;
    for (const PlacedText& placed : std::span(tiny_.set().all).first(texts)) {
      ASSERT_TRUE(tiny_.features().Read(placed, rows).ok());
      ASSERT_TRUE(writer
                      .Add({.temperature = placed.text->temperature,
                            .prompt = placed.text->prompt,
                            .tokens = placed.text->tokens,
                            .rows = rows})
                      .ok());
    }
  }
  Result<std::unique_ptr<LearnedSet>> Open(int64_t most_rows = 1 << 30) {
    return LearnedSet::Open(folder_, kind_, TinyTraining::kVocabulary.size, most_rows, kSteps);
  }

  TinyTraining tiny_;
  const HeadConfig config_ = tiny_.Eagle3Config();
  const SegmentKind kind_ = SegmentKindOf(*tiny_.target().file(), config_);
  const std::string folder_ = tiny_.dir().Path("learn");
};

TEST_F(LearnedSetTest, HasTheRowsOfEachTextAndHoldsTheNewestOut) {
  Keep(20);
  const auto learned = Open().value();
  const TrainSet& set = learned->set();
  ASSERT_EQ(set.all.size(), 20u);
  EXPECT_EQ(set.learned.size() + set.held_out.size(), 20u);
  ASSERT_EQ(set.held_out.size(), 3u);
  EXPECT_EQ(set.held_out.back().text, set.all.back().text);
  std::vector<std::byte> rows, wanted;
  for (size_t i = 0; i < set.all.size(); ++i) {
    EXPECT_EQ(set.all[i].text->tokens, tiny_.set().all[i].text->tokens);
    ASSERT_TRUE(learned->Read(set.all[i], rows).ok());
    ASSERT_TRUE(tiny_.features().Read(tiny_.set().all[i], wanted).ok());
    EXPECT_EQ(rows, wanted);
  }
}

TEST_F(LearnedSetTest, TrainsAHead) {
  Keep(20);
  const auto learned = Open().value();
  FakeHeadTrainer trainer(config_);
  const TrainOptions options = {.epochs = 2, .batch_tokens = 100, .precision = Precision::kF32};
  HeadStudent student(config_, tiny_.target(), std::nullopt);
  const TrainTask task = {student, learned->set(), *learned, tiny_.dir().Path("checkpoint"),
                          tiny_.dir().Path("head.gguf")};
  const auto outcome = TrainHead(options, task, trainer, {}, {});
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_TRUE(outcome->finished);
  EXPECT_GT(trainer.State().updates, 8);
}

TEST_F(LearnedSetTest, TooLittleTextIsSaidToBeSo) {
  std::filesystem::create_directory(folder_);
  EXPECT_THAT(Open().error().message, HasSubstr("has 0 texts, which is too few"));
  Keep(1);
  EXPECT_THAT(Open().error().message, HasSubstr("has 1 texts, which is too few"));
}

}  // namespace
}  // namespace hunch

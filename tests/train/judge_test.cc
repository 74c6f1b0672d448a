#include "train/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/tiny_training.h"

namespace hunch {
namespace {

using testing::Each;
using testing::ElementsAre;

class JudgeTest : public testing::Test {
 protected:
  static constexpr int kSteps = 3;

  // What a head that is always right says.
  HeadGuesses Perfect(const HeadBatch& batch) const {
    HeadGuesses guesses(kSteps, std::vector<TokenId>(batch.asked(), -1));
    const HeadBatch::Text& place = batch.texts[0];
    for (int k = 0; k < kSteps; ++k) {
      for (int i = 0; i < place.asked; ++i) {
        const int guessed = place.first_position + i + 2 + k;
        if (guessed < text_.size()) guesses[k][place.first_asked + i] = text_.tokens[guessed];
      }
    }
    return guesses;
  }

  TinyTraining tiny_{4};
  const TrainText& text_ = *tiny_.set().learned[0].text;
  const HeadBatch batch_ = tiny_.Batch(0, 1, kSteps);
};

TEST_F(JudgeTest, AHeadThatIsAlwaysRightMissesNothing) {
  const auto runs = RunsOf(text_, batch_.texts[0], Perfect(batch_));
  const size_t answer = text_.answer().size();
  ASSERT_EQ(runs.size(), answer);
  for (size_t i = 0; i < answer; ++i) {
    EXPECT_EQ(runs[i], static_cast<int>(std::min<size_t>(kSteps, answer - 1 - i))) << i;
  }
  Judgement judgement;
  judgement.Add(runs, kSteps);
  EXPECT_EQ(judgement.asked, judgement.right);
  EXPECT_EQ(judgement.asked[0], static_cast<int64_t>(answer) - 1);
  EXPECT_EQ(judgement.asked[2], static_cast<int64_t>(answer) - 3);
}

TEST_F(JudgeTest, ARunEndsAtTheFirstWrongGuess) {
  HeadGuesses guesses = Perfect(batch_);
  for (TokenId& token : guesses[1]) token = -1;
  const auto runs = RunsOf(text_, batch_.texts[0], guesses);
  EXPECT_THAT(std::vector<int>(runs.begin(), runs.end() - 1), Each(1));
  EXPECT_EQ(runs.back(), 0);
  Judgement judgement;
  judgement.Add(std::vector<int>{1, 1, 0, 0}, kSteps);
  EXPECT_THAT(judgement.asked, ElementsAre(3, 2, 0));
  EXPECT_THAT(judgement.right, ElementsAre(2, 0, 0));
  EXPECT_THAT(judgement.Shares(), ElementsAre(2.0 / 3, 0, 0));
}

}  // namespace
}  // namespace hunch

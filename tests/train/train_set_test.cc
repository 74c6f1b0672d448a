#include "train/train_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/tiny_training.h"

namespace hunch {
namespace {

using testing::ElementsAre;

TEST(TrainSet, HoldsOutGreedyAnswersAndLeavesOutWhatIsTooShort) {
  TinyTraining tiny(70);
  ASSERT_TRUE(tiny.data().Add(100, {0, 3, {1, 2, 3, 4, 5}}).ok());               // short prompt
  ASSERT_TRUE(tiny.data().Add(101, {}).ok());                                    // nothing
  ASSERT_TRUE(tiny.data().Add(102, {0, 8, std::vector<TokenId>(300, 1)}).ok());  // long
  const TrainSet set = MakeTrainSet(tiny.data(), 200, 5, 200);
  EXPECT_EQ(set.all.size(), 70u);
  EXPECT_EQ(set.held_out.size(), 3u);  // 0, 32, 64
  EXPECT_EQ(set.learned.size(), 67u);
  int64_t row = 0;
  for (const PlacedText& placed : set.all) {
    EXPECT_EQ(placed.first_row, row);
    row += placed.text->size();
  }
  EXPECT_EQ(set.rows, row);
  // Fewer requests are the beginning of more.
  EXPECT_EQ(MakeTrainSet(tiny.data(), 10, 5, 200).all.size(), 10u);
  EXPECT_NE(MakeTrainSet(tiny.data(), 10, 5, 200).fingerprint, set.fingerprint);
}

TEST(TrainSet, WhatCanBeGuessedIsWhatAnswersHaveMost) {
  const TrainText text = {0, 2, {1, 1, 4, 4, 4, 7, 7, 2}};
  const PlacedText placed = {&text, 0};
  EXPECT_THAT(GuessableTokens({&placed, 1}, 10, 3, std::vector<TokenId>{9}), ElementsAre(4, 7, 9));
}

TEST(TrainSet, EachEpochHasEveryTextOnceInAnotherOrder) {
  TinyTraining tiny(40);
  const auto& texts = tiny.set().learned;
  const auto first = BatchesOf(texts, 100, 1, 0);
  EXPECT_EQ(first, BatchesOf(texts, 100, 1, 0));
  EXPECT_NE(first, BatchesOf(texts, 100, 1, 1));
  EXPECT_NE(first, BatchesOf(texts, 100, 2, 0));
  std::vector<int> seen;
  for (const auto& batch : first) {
    int tokens = 0;
    for (const int index : batch) tokens += texts[index].text->size();
    EXPECT_LE(tokens, 100);
    seen.insert(seen.end(), batch.begin(), batch.end());
  }
  std::sort(seen.begin(), seen.end());
  for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(seen[i], static_cast<int>(i));
  // A text that is longer than a batch has one of its own.
  EXPECT_EQ(BatchesOf(texts, 1, 1, 0).size(), texts.size());
}

}  // namespace
}  // namespace hunch

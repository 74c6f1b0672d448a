#include "train/learning_rate.h"

#include <gtest/gtest.h>

namespace hunch {
namespace {

TEST(LearningRate, RisesThenFallsToATenth) {
  constexpr int kUpdates = 200;
  EXPECT_DOUBLE_EQ(LearningRate(1, 7, kUpdates), 1);  // 4 % of them are warm-up
  EXPECT_DOUBLE_EQ(LearningRate(2, 3, kUpdates), 1);
  for (int update = 8; update < kUpdates; ++update) {
    EXPECT_LT(LearningRate(1, update, kUpdates), LearningRate(1, update - 1, kUpdates)) << update;
  }
  EXPECT_NEAR(LearningRate(1, kUpdates - 1, kUpdates), 0.1, 1e-9);
  EXPECT_NEAR(LearningRate(1, 103, kUpdates), 0.55, 1e-9);  // half way down
}

TEST(LearningRate, TakesAnyNumberOfUpdates) {
  EXPECT_DOUBLE_EQ(LearningRate(1, 0, 1), 1);
  EXPECT_GT(LearningRate(1, 1, 2), 0);
}

}  // namespace
}  // namespace hunch

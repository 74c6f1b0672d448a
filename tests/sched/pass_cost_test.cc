#include "sched/pass_cost.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace hunch {
namespace {

PassCost CostOf(const std::vector<PassTime>& times) { return PassCost(CostCurve(times)); }

TEST(PassCost, BeginsAsMeasured) {
  const PassCost cost = CostOf({{1, 10}, {2, 12}, {4, 16}, {8, 32}});
  EXPECT_NEAR(cost.Seconds(1), 10, 1e-9);
  EXPECT_NEAR(cost.Seconds(3), 14, 1e-9);
  EXPECT_NEAR(cost.Seconds(8), 32, 1e-9);
  EXPECT_NEAR(cost.Seconds(16), 64, 1e-9) << "beyond the curve in proportion";
}

TEST(PassCost, FollowsAMachineThatSlowsDown) {
  PassCost cost = CostOf({{1, 10}, {4, 20}});
  for (int i = 0; i < 100; ++i) cost.Observe(1, 15);
  EXPECT_NEAR(cost.Seconds(1), 15, 0.2);
  EXPECT_GT(cost.Seconds(4), 21.5) << "what slows one pass slows the others";
  for (int i = 0; i < 200; ++i) cost.Observe(i % 2 == 0 ? 1 : 4, i % 2 == 0 ? 15 : 30);
  EXPECT_NEAR(cost.Seconds(4) / cost.Seconds(1), 2, 0.02);
}

TEST(PassCost, LearnsAShapeThatWasMeasuredWrong) {
  PassCost cost = CostOf({{1, 10}, {2, 10}, {4, 10}, {8, 10}});
  for (int i = 0; i < 100; ++i) {
    cost.Observe(1, 10);
    cost.Observe(4, 20);
  }
  EXPECT_NEAR(cost.Seconds(1), 10, 0.5);
  EXPECT_NEAR(cost.Seconds(4), 20, 1.0);
  EXPECT_GE(cost.Seconds(8), cost.Seconds(4) * 0.99);
}

TEST(PassCost, TheFirstPassesSetTheScale) {
  PassCost cost = CostOf({{1, 1.0}, {4, 2.0}});  // of another machine
  cost.Observe(4, 0.06);
  EXPECT_NEAR(cost.Seconds(1), 0.03, 1e-6);
  for (int i = 0; i < 7; ++i) cost.Observe(1, 0.01);
  EXPECT_LT(cost.Seconds(1), 0.0125) << "though the very first one hung";
  EXPECT_NEAR(cost.Seconds(4) / cost.Seconds(1), 2, 0.01);
}

TEST(PassCost, OnePassThatHungMovesItLittle) {
  PassCost cost = CostOf({{1, 10}, {4, 20}});
  for (int i = 0; i < 8; ++i) cost.Observe(1 + i % 2 * 3, 10 + i % 2 * 10);
  cost.Observe(4, 1e6);
  EXPECT_LT(cost.Seconds(4), 20 * 1.04);
  EXPECT_LT(cost.Seconds(1), 10 * 1.02);
  cost.Observe(1, 1e-9);
  EXPECT_GT(cost.Seconds(1), 10 * 0.96);
}

TEST(PassCost, ATimeThatCannotBeIsPassedOver) {
  PassCost cost = CostOf({{1, 10}, {4, 20}});
  for (const double seconds : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    cost.Observe(1, seconds);
  }
  EXPECT_NEAR(cost.Seconds(1), 10, 1e-9);
}

TEST(PassCost, NeverFallsWithRows) {
  PassCost cost = CostOf({{1, 10}, {2, 10}, {4, 10}, {8, 12}});
  for (int i = 0; i < 50; ++i) {
    cost.Observe(1, 11);
    cost.Observe(2, 9);
    cost.Observe(8, 8);
    for (int rows = 2; rows <= 20; ++rows) {
      ASSERT_GE(cost.Seconds(rows), cost.Seconds(rows - 1) * (1 - 1e-12)) << rows;
    }
  }
}

TEST(PassCost, KnowsWhatItHasNotSeenForLong) {
  PassCost cost = CostOf({{1, 10}, {4, 20}});
  EXPECT_TRUE(cost.Stale(1));
  cost.Observe(1, 10);
  EXPECT_FALSE(cost.Stale(1));
  for (int i = 0; i < 64; ++i) cost.Observe(4, 20);
  EXPECT_TRUE(cost.Stale(1));
  cost.Observe(1, 10);
  EXPECT_FALSE(cost.Stale(1));
  for (int i = 0; i < 40; ++i) cost.Observe(9, 60);  // 9 rows: beyond the curve, its last point
  EXPECT_FALSE(cost.Stale(4));
  EXPECT_TRUE(cost.Stale(1)) << "not long ago, but much has changed";
  EXPECT_GT(cost.Seconds(1), 10.3);
}

// Where plain passes are rare they must count, or a curve that is wrong at four rows would look
// like a machine that has become slow.
TEST(PassCost, AFewPassesPutAStaleLevelRight) {
  PassCost cost = CostOf({{1, 10}, {4, 11}});
  for (int i = 0; i < 200; ++i) cost.Observe(i % 20 == 0 ? 1 : 4, i % 20 == 0 ? 10 : 15);
  EXPECT_NEAR(cost.Seconds(1), 10, 0.7);
  EXPECT_NEAR(cost.Seconds(4), 15, 0.3);
}

}  // namespace
}  // namespace hunch

#include "sched/cost_curve.h"

#include <gtest/gtest.h>

namespace hunch {
namespace {

void ExpectTimes(std::span<const PassTime> got, const std::vector<PassTime>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(got[i].rows, expected[i].rows) << i;
    EXPECT_EQ(got[i].seconds, expected[i].seconds) << i;
  }
}

CostCurve CurveOf(const std::vector<PassTime>& times) { return CostCurve(times); }

TEST(MedianTimes, OnePerNumberOfRows) {
  ExpectTimes(MedianTimes({{4, 9}, {1, 3}, {4, 2}, {1, 1}, {4, 5}, {8, 7}}),
              {{1, 2}, {4, 5}, {8, 7}});
  ExpectTimes(MedianTimes({}), {});
}

TEST(CostCurve, IsStraightBetweenItsPoints) {
  const CostCurve curve = CurveOf({{2, 1}, {4, 2}, {8, 4}, {16, 16}});
  EXPECT_EQ(curve.Seconds(2), 1);
  EXPECT_EQ(curve.Seconds(3), 1.5);
  EXPECT_EQ(curve.Seconds(4), 2);
  EXPECT_EQ(curve.Seconds(10), 7);
  EXPECT_EQ(curve.Seconds(16), 16);
}

TEST(CostCurve, OutsideItsPoints) {
  const CostCurve curve = CurveOf({{2, 1}, {16, 16}});
  EXPECT_EQ(curve.Seconds(1), 1);
  EXPECT_EQ(curve.Seconds(32), 32);  // as two passes of 16 rows
  const CostCurve single = CurveOf({{4, 2}});
  EXPECT_EQ(single.Seconds(1), 2);
  EXPECT_EQ(single.Seconds(6), 3);
}

TEST(CostCurve, NeverFalls) {
  ExpectTimes(CurveOf({{1, 4}, {2, 2}, {3, 8}}).points(), {{1, 3}, {2, 3}, {3, 8}});
  // A late fall pulls down everything above it.
  ExpectTimes(CurveOf({{1, 1}, {2, 6}, {3, 7}, {4, 5}}).points(), {{1, 1}, {2, 6}, {3, 6}, {4, 6}});
  ExpectTimes(CurveOf({{1, 9}, {2, 6}, {4, 3}}).points(), {{1, 6}, {2, 6}, {4, 6}});
}

}  // namespace
}  // namespace hunch

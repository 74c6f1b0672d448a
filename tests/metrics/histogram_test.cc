// Where a value is counted.
#include "metrics/histogram.h"

#include <gtest/gtest.h>

namespace hunch {
namespace {

TEST(HistogramTest, AValueBelongsToTheFirstBoundThatItDoesNotExceed) {
  static constexpr double kBounds[] = {1, 2, 5};
  Histogram histogram(kBounds);
  for (const double value : {0.5, 1.0, 1.5, 5.0, 5.5, 100.0}) histogram.Observe(value);
  EXPECT_EQ(histogram.count(0), 2u);
  EXPECT_EQ(histogram.count(1), 1u);
  EXPECT_EQ(histogram.count(2), 1u);
  EXPECT_EQ(histogram.count(3), 2u);
  EXPECT_DOUBLE_EQ(histogram.sum(), 113.5);
}

}  // namespace
}  // namespace hunch

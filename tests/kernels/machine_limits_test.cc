// The limits are measured, so only their plausibility can be asserted: what a loop that was
// optimised away, or a buffer of untouched pages, would miss by orders of magnitude.
#include "kernels/machine_limits.h"

#include <gtest/gtest.h>

#include "kernels/dot_peak.h"

namespace hunch {
namespace {

TEST(MachineLimits, ReadBandwidthIsOfThisWorld) {
  ThreadPool pool(2);
  const auto bandwidth = MeasureReadBandwidth(pool);
  ASSERT_TRUE(bandwidth.ok()) << bandwidth.error().message;
  EXPECT_GT(*bandwidth, 1e8);
  EXPECT_LT(*bandwidth, 1e12);
}

TEST(MachineLimits, DotPeakIsOfThisWorld) {
  ThreadPool pool(2);
  for (Isa isa : SupportedIsas()) {
    const double peak = MeasureDotPeak(isa, pool);
    EXPECT_GT(peak, 1e7) << IsaName(isa);
    EXPECT_LT(peak, 1e13) << IsaName(isa);
  }
}

TEST(MachineLimits, DotLoopsCountWhatTheyDo) {
  EXPECT_EQ(DotPeakRef(3), 3 * 512);
  for (Isa isa : SupportedIsas()) {
#if defined(__x86_64__)
    if (isa == Isa::kAvx2) {
      EXPECT_EQ(DotPeakAvx2(3), 3 * 32 * 8);
    } else if (isa == Isa::kAvx512) {
      EXPECT_EQ(DotPeakAvx512(3), 3 * 64 * 16);
    }
#elif defined(__aarch64__)
    if (isa == Isa::kNeon) {
      EXPECT_EQ(DotPeakNeon(3), 3 * 16 * 16);
    }
#endif
  }
}

}  // namespace
}  // namespace hunch

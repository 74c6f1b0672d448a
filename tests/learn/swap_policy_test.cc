#include "learn/swap_policy.h"

#include <gtest/gtest.h>

namespace hunch {
namespace {

constexpr SwapPolicy kPolicy = {
    .least_replayed = 1000, .better = 1.02, .least_guesses = 500, .least_fall = 0.02, .surely = 3};

PassesNeeded Rate(double tokens_per_pass, int64_t tokens = 2000) {
  return {.passes = static_cast<int64_t>(static_cast<double>(tokens) / tokens_per_pass),
          .tokens = tokens};
}
GuessCounts Share(double share, int64_t verified = 10'000) {
  return {verified, static_cast<int64_t>(share * static_cast<double>(verified))};
}

TEST(SwapPolicy, AHeadHasToBeBetterByAMargin) {
  EXPECT_TRUE(WorthSwapping(kPolicy, Rate(2.0), Rate(2.1)));
  EXPECT_FALSE(WorthSwapping(kPolicy, Rate(2.0), Rate(2.02)));
  EXPECT_FALSE(WorthSwapping(kPolicy, Rate(2.0), Rate(1.5)));
  EXPECT_FALSE(WorthSwapping(kPolicy, Rate(2.0, 900), Rate(3.0, 900))) << "on too little text";
  EXPECT_FALSE(WorthSwapping(kPolicy, {}, {}));
}

TEST(SwapPolicy, ATrialFailsWhenFewerAreAcceptedThanChanceExplains) {
  EXPECT_EQ(JudgeTrial(kPolicy, Share(0.6), Share(0.3, 400)), Trial::kGoesOn);
  EXPECT_EQ(JudgeTrial(kPolicy, Share(0.6), Share(0.5)), Trial::kFailed);
  EXPECT_EQ(JudgeTrial(kPolicy, Share(0.6), Share(0.61)), Trial::kPassed);
  EXPECT_EQ(JudgeTrial(kPolicy, Share(0.6), Share(0.585)), Trial::kPassed) << "hardly worse";
  EXPECT_EQ(JudgeTrial(kPolicy, Share(0.6, 600), Share(0.55, 600)), Trial::kPassed) << "chance";
  EXPECT_EQ(JudgeTrial(kPolicy, Share(0.9, 100), Share(0.2)), Trial::kPassed)
      << "there is nothing to hold it against";
  EXPECT_EQ(JudgeTrial(kPolicy, {}, {}), Trial::kGoesOn);
}

TEST(SwapPolicy, AHeadThatFailedStaysWhereTheTextGotHarder) {
  EXPECT_TRUE(WorthRollingBack(kPolicy, Rate(2.0), Rate(1.9)));
  EXPECT_TRUE(WorthRollingBack(kPolicy, Rate(2.0), Rate(2.0)));
  EXPECT_FALSE(WorthRollingBack(kPolicy, Rate(1.6), Rate(1.8)));
  EXPECT_TRUE(WorthRollingBack(kPolicy, Rate(1.6, 10), Rate(1.8, 10)));
}

}  // namespace
}  // namespace hunch

#include "sched/plain_guard.h"

#include <gtest/gtest.h>

namespace hunch {
namespace {

// Steps that each take `excess` plain steps too many, whenever the guard lets them; what that adds
// up to.
double Lose(PlainGuard& guard, int steps, double excess) {
  double lost = 0;
  for (int i = 0; i < steps; ++i) {
    if (!guard.holds()) lost += excess;
    guard.Count(guard.holds() ? 0 : excess);
  }
  return lost;
}

TEST(PlainGuard, BoundsWhatIsLost) {
  for (const double excess : {0.02, 0.1, 0.5, 1.0}) {
    PlainGuard guard;
    EXPECT_LT(Lose(guard, 1000, excess), 0.03 * 1000) << excess;
    EXPECT_GT(guard.fallbacks(), 0) << excess;
  }
}

TEST(PlainGuard, ReturnsRarerAndRarerWhileItGoesOnLosing) {
  PlainGuard guard;
  Lose(guard, 200, 1.0);
  const int64_t early = guard.returns();
  Lose(guard, 200, 1.0);
  EXPECT_GE(early, 2);
  EXPECT_LE(guard.returns() - early, 1);
}

TEST(PlainGuard, StaysOutOfTheWayWhereItPays) {
  PlainGuard guard;
  for (int i = 0; i < 1000; ++i) guard.Count(i % 3 == 0 ? 0.5 : -0.4);
  EXPECT_EQ(guard.fallbacks(), 0);
}

TEST(PlainGuard, AnEasyBeginningDoesNotPayForALongLoss) {
  PlainGuard guard;
  for (int i = 0; i < 1000; ++i) guard.Count(-2);
  EXPECT_LT(Lose(guard, 100, 0.5), PlainGuard::kLimit + PlainGuard::kCredit + 3);
  EXPECT_GT(guard.fallbacks(), 0);
}

TEST(PlainGuard, ForgivesAfterItPaidAgain) {
  PlainGuard guard;
  Lose(guard, 300, 1.0);
  while (guard.holds()) guard.Count(0);
  for (int i = 0; i < 20; ++i) guard.Count(-1);
  Lose(guard, 10, 1.0);
  ASSERT_TRUE(guard.holds());
  int waited = 0;
  for (; guard.holds(); ++waited) guard.Count(0);
  EXPECT_LE(waited, PlainGuard::kFirstWait);
}

}  // namespace
}  // namespace hunch

#include "base/idle_priority.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace hunch {
namespace {

TEST(IdlePriority, IsOfTheThreadAndOfThoseThatItStarts) {
  std::thread([] {
    BecomeIdle();
    EXPECT_EQ(sched_getscheduler(0), SCHED_IDLE);
    std::thread([] { EXPECT_EQ(sched_getscheduler(0), SCHED_IDLE); }).join();
  }).join();
  EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
}

}  // namespace
}  // namespace hunch

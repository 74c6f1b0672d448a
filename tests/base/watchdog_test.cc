// The watchdog: quiet while work comes back, a report when it does not, and the end of the process.
#include "base/watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace hunch {
namespace {

using namespace std::chrono_literals;

TEST(WatchdogTest, WorkThatComesBackIsNoneOfItsBusiness) {
  std::atomic<int> barks = 0;
  Watchdog watchdog({.limit = 2000ms, .on_stuck = [&] { ++barks; }});
  for (int i = 0; i < 20; ++i) {
    watchdog.Begin();
    std::this_thread::sleep_for(1ms);
    watchdog.End();
  }
  EXPECT_FALSE(watchdog.stuck());
  EXPECT_EQ(barks, 0);
}

TEST(WatchdogTest, IdleTimeDoesNotCount) {
  std::atomic<int> barks = 0;
  Watchdog watchdog({.limit = 20ms, .on_stuck = [&] { ++barks; }});
  watchdog.Begin();
  watchdog.End();
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(barks, 0);
}

TEST(WatchdogTest, WorkThatHangsIsReportedOnce) {
  std::atomic<int> barks = 0;
  Watchdog watchdog({.limit = 10ms, .on_stuck = [&] { ++barks; }});
  watchdog.Begin();
  while (barks == 0) std::this_thread::yield();
  EXPECT_TRUE(watchdog.stuck());
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(barks, 1);
}

TEST(WatchdogTest, WithoutALimitThereIsNone) {
  Watchdog watchdog({});
  watchdog.Begin();
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(watchdog.stuck());
}

// Something of a name that the stack can show.
[[gnu::noinline]] void HangForEver() {
  while (true) std::this_thread::sleep_for(1s);
}

TEST(WatchdogDeathTest, TheProcessEndsWithTheStackOfTheThreadThatHangs) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Watchdog watchdog({.limit = 20ms, .grace = 20ms});
        watchdog.Begin();
        HangForEver();
      },
      testing::KilledBySignal(SIGABRT),
      "this is where it is:(.|\n)*base_tests(.|\n)*the process ends");
}

}  // namespace
}  // namespace hunch

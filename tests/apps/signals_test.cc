#include "apps/signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace hunch {
namespace {

TEST(SignalInterrupts, KeepsTheSignalUntilCleared) {
  SignalInterrupts interrupts;
  interrupts.Arm();
  EXPECT_EQ(interrupts.Pending(), 0);
  raise(SIGINT);
  EXPECT_EQ(interrupts.Pending(), SIGINT);
  interrupts.Clear();
  EXPECT_EQ(interrupts.Pending(), 0);
  raise(SIGTERM);
  EXPECT_EQ(interrupts.Pending(), SIGTERM);
  interrupts.Clear();
}

TEST(SignalInterruptsDeathTest, ASecondSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        SignalInterrupts interrupts;
        interrupts.Arm();
        raise(SIGINT);
        raise(SIGINT);
      },
      ::testing::ExitedWithCode(130), "");
}

TEST(SignalInterruptsDeathTest, BeforeArmAndAfterItsLifeASignalKills) {
  EXPECT_EXIT(
      {
        {
          SignalInterrupts interrupts;
          interrupts.Arm();
        }
        raise(SIGINT);
      },
      ::testing::KilledBySignal(SIGINT), "");
}

// The prompt of a chat must come back from its read.
TEST(SignalInterrupts, InterruptsABlockingRead) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  SignalInterrupts interrupts;
  interrupts.Arm();
  alarm(0);
  struct sigaction action = {};
  struct sigaction installed = {};
  ASSERT_EQ(sigaction(SIGINT, nullptr, &installed), 0);
  EXPECT_EQ(installed.sa_flags & SA_RESTART, 0);
  action = installed;
  ASSERT_EQ(sigaction(SIGALRM, &action, nullptr), 0);
  alarm(1);
  char c;
  EXPECT_EQ(read(ends[0], &c, 1), -1);
  EXPECT_EQ(errno, EINTR);
  EXPECT_EQ(interrupts.Pending(), SIGALRM);
  interrupts.Clear();
  std::signal(SIGALRM, SIG_DFL);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace hunch

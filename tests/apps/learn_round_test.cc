// A round as a process: how it ends, what it says, and that it does not outlive its owner.
#include "apps/learn_round.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "support/files.h"

namespace hunch {
namespace {

using testing::HasSubstr;

class LearnRoundTest : public testing::Test {
 protected:
  std::unique_ptr<LearnRound> Run(const std::string& script) {
    return StartRound("/bin/sh", {"-c", script}, Log()).value();
  }
  static bool Await(LearnRound& round) {
    std::optional<bool> ended;
    while (!(ended = round.Ended())) std::this_thread::yield();
    return *ended;
  }
  std::string Log() const { return dir_.Path("log"); }

  const TempDir dir_;
};

TEST_F(LearnRoundTest, SaysHowItEnded) {
  EXPECT_TRUE(Await(*Run("exit 0")));
  EXPECT_FALSE(Await(*Run("exit 3")));
  EXPECT_FALSE(Await(*Run("kill -9 $$")));
  const auto round = Run("exit 0");
  EXPECT_TRUE(Await(*round));
  EXPECT_EQ(round->Ended(), true) << "and says it again";
}

TEST_F(LearnRoundTest, ItsWordsAreInTheLog) {
  EXPECT_TRUE(Await(*Run("echo one; echo two >&2")));
  EXPECT_EQ(ReadFile(Log()), "one\ntwo\n");
  EXPECT_TRUE(Await(*Run("echo three")));
  EXPECT_EQ(ReadFile(Log()), "three\n");
}

TEST_F(LearnRoundTest, KnowsWhoStartedIt) {
  EXPECT_TRUE(Await(*Run("test $HUNCH_ROUND_PARENT = $PPID")));
}

TEST_F(LearnRoundTest, HoldsNothingOpenThatIsTheServers) {
  const int held = dup(STDERR_FILENO);
  ASSERT_GE(held, 3);
  EXPECT_TRUE(Await(*Run("ls /proc/self/fd")));
  close(held);
  // 3 is the folder that ls reads.
  EXPECT_EQ(ReadFile(Log()), "0\n1\n2\n3\n");
}

TEST_F(LearnRoundTest, IsKilledWithItsOwner) {
  auto round = Run("echo $$; exec sleep 1000");
  while (ReadFile(Log()).find('\n') == std::string::npos) std::this_thread::yield();
  const pid_t pid = std::stoi(ReadFile(Log()));
  EXPECT_EQ(kill(pid, 0), 0);
  EXPECT_FALSE(round->Ended());
  round.reset();
  EXPECT_EQ(kill(pid, 0), -1) << "it is gone, and nobody has to wait for it";
}

TEST_F(LearnRoundTest, AProgramThatIsNotThereIsAnError) {
  EXPECT_THAT(StartRound("/no/such/program", {}, Log()).error().message,
              HasSubstr("cannot start /no/such/program"));
}

}  // namespace
}  // namespace hunch

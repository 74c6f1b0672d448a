#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "apps/commands.h"
#include "support/app_harness.h"

namespace hunch {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Demo, AnswersTwiceAndComparesInOneLine) {
  AppHarness app;
  EXPECT_EQ(app.Run({"demo", "--model", "m"}), kExitOk);
  ASSERT_EQ(app.calls.size(), 3u);  // the first warms up
  EXPECT_EQ(app.calls[1].speculation.method, DraftMethod());
  EXPECT_EQ(app.calls[2].speculation.method, DraftMethod::Auto());
  EXPECT_EQ(app.calls[2].params.max_tokens, 128);
  EXPECT_EQ(app.calls[1].prompt, app.calls[2].prompt);
  EXPECT_THAT(app.out(), HasSubstr("--- plain decoding ---\none two three\n"));
  EXPECT_THAT(app.out(), HasSubstr("--- with speculation: auto ---\none two three\n"));
  EXPECT_THAT(app.out(), HasSubstr("14 tokens, 17.3 tokens/s (8.0 plain), accepted guesses: 7 of "
                                   "26, "));
  EXPECT_THAT(app.out(), EndsWith(" x the speed of plain decoding, identical output: yes\n"));
  EXPECT_THAT(app.out(), Not(HasSubstr("\x1b")));
}

TEST(Demo, ColoursOnATerminalAndTakesItsPrompt) {
  AppHarness app;
  app.out_tty = true;
  app.demo_prompt = "from the environment";
  EXPECT_EQ(app.Run({"demo", "--model", "m", "--max-tokens", "9"}), kExitOk);
  EXPECT_EQ(app.calls[1].prompt, "user: from the environment\n");
  EXPECT_EQ(app.calls[1].params.max_tokens, 9);
  EXPECT_THAT(app.out(), HasSubstr("o\x1b[4;32mn\x1b[0m"));
  EXPECT_EQ(app.Run({"demo", "--model", "m", "argument"}), kExitOk);
  EXPECT_EQ(app.calls[1].prompt, "user: argument\n");
}

TEST(Demo, ADifferentOutputIsExit3) {
  AppHarness app;
  app.script.faults["auto"] = 2;
  EXPECT_EQ(app.Run({"demo", "--model", "m"}), kExitDifferent);
  EXPECT_THAT(app.out(), EndsWith("identical output: NO\n"));
}

TEST(Demo, AnInterruptEndsIt) {
  AppHarness app;
  app.script.before_token = [&](size_t position) {
    if (app.calls.size() == 2 && position == 2) app.interrupts.pending = SIGINT;
  };
  EXPECT_EQ(app.Run({"demo", "--model", "m"}), 130);
  EXPECT_EQ(app.calls.size(), 2u);
  EXPECT_THAT(app.out(), Not(HasSubstr("identical")));
}

}  // namespace
}  // namespace hunch

#include "apps/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace hunch {
namespace {

TEST(Progress, IsABarOnATerminal) {
  std::istringstream in;
  std::ostringstream out, err;
  Console console{.in = in, .out = out, .err = err, .err_tty = true};
  {
    Progress progress(console, 3);
    progress.Advance("x");
    EXPECT_EQ(err.str(), "\r[##########--------------------] 1/3 x\x1b[K");
    progress.Print("line");
    EXPECT_THAT(err.str(), ::testing::EndsWith("\x1b[K\r\x1b[Kline\n"));
  }
  EXPECT_EQ(out.str(), "");
}

TEST(Progress, IsAtMostTenLinesElsewhere) {
  std::istringstream in;
  std::ostringstream out, err;
  Console console{.in = in, .out = out, .err = err};
  Progress progress(console, 1000);
  for (int i = 0; i < 1000; ++i) progress.Advance("x");
  const std::string text = err.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10);
  EXPECT_THAT(text, ::testing::EndsWith("1000/1000 x\n"));
}

}  // namespace
}  // namespace hunch

#include "base/log.h"

#include <gtest/gtest.h>

namespace hunch {
namespace {

TEST(Log, AWarningIsOneLineWhateverItQuotes) {
  testing::internal::CaptureStderr();
  LogWarning("a {} %s \x1b[31m\nb\xff");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "warning: a {} %s  [31m b\uFFFD\n");
}

}  // namespace
}  // namespace hunch

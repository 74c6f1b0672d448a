// The process around the program: its console and what becomes of writes that fail.
#include "apps/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "support/files.h"

namespace hunch {
namespace {

std::vector<std::string> Help() { return {"train", "--help"}; }

TEST(Process, WritesWhatTheProgramSays) {
  const TempDir dir;
  const int file = open(dir.Path("out").c_str(), O_WRONLY | O_CREAT, 0600);
  bool filled = false;
  EXPECT_EQ(RunProcess("hunch", Help(), file, [&](Context&) { filled = true; }), kExitOk);
  close(file);
  EXPECT_TRUE(filled);
  EXPECT_NE(ReadFile(dir.Path("out")).find("--kind"), std::string::npos);
}

TEST(Process, AFullDiskIsAnErrorAndAReaderThatLeftIsNone) {
  const int full = open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  testing::internal::CaptureStderr();
  EXPECT_EQ(RunProcess("hunch-train", Help(), full, [](Context&) {}), kExitFailure);
  close(full);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "hunch-train: cannot write to standard output: No space left on device\n");
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  EXPECT_EQ(RunProcess("hunch-train", Help(), ends[1], [](Context&) {}), kExitOk);
  close(ends[1]);
}

}  // namespace
}  // namespace hunch

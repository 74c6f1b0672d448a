// TemporaryFile: what may be replaced, and what stays of it.
#include "weights/temporary_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "support/files.h"

namespace hunch {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Empty where it was written, otherwise why not.
std::string Replace(const std::string& path, std::string_view text) {
  TemporaryFile file(path);
  file.Write(std::as_bytes(std::span(text)));
  file.MoveIntoPlace();
  return file.ok() ? "" : file.Failure().message;
}

class TemporaryFileTest : public testing::Test {
 protected:
  size_t FilesInFolder() const {
    size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(dir_.path()))
      ++count;
    return count;
  }
  TempDir dir_;
};

TEST_F(TemporaryFileTest, WritesANewFileAndReplacesAnOldOne) {
  const std::string path = dir_.Path("file");
  EXPECT_EQ(Replace(path, "first, and longer"), "");
  EXPECT_EQ(Replace(path, "second"), "");
  EXPECT_EQ(ReadFile(path), "second");
  EXPECT_EQ(FilesInFolder(), 1u);
}

// A rename would put a file in the place of /dev/null, for whoever may do that.
TEST_F(TemporaryFileTest, WhatIsNoRegularFileStays) {
  const std::string fifo = dir_.Path("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(Replace(fifo, "text"), StartsWith(fifo + ": not a regular file"));
  EXPECT_TRUE(std::filesystem::is_fifo(fifo));
  std::filesystem::create_directory(dir_.Path("folder"));
  EXPECT_THAT(Replace(dir_.Path("folder"), "text"), HasSubstr("Is a directory"));
  EXPECT_EQ(FilesInFolder(), 2u);
}

TEST_F(TemporaryFileTest, FollowsALinkToAFile) {
  const std::string target = dir_.Write("target", "old");
  const std::string link = dir_.Path("link");
  std::filesystem::create_symlink("target", link);
  EXPECT_EQ(Replace(link, "new"), "");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(ReadFile(target), "new");
}

TEST_F(TemporaryFileTest, KeepsThePermissionsOfWhatItReplaces) {
  const std::string path = dir_.Write("private", "old");
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_EQ(Replace(path, "new"), "");
  struct stat status;
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

// A process that was killed left it, and the next one has the same number, as in a container.
TEST_F(TemporaryFileTest, WhatAnotherLeftBehindIsInNobodysWay) {
  const std::string path = dir_.Path("file");
  std::string left;
  {
    TemporaryFile killed(path);
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) left = entry.path();
  }
  ASSERT_NE(left, "");
  ASSERT_FALSE(std::filesystem::exists(left));
  dir_.Write(std::filesystem::path(left).filename().string(), "left");
  EXPECT_EQ(Replace(path, "new"), "");
  EXPECT_EQ(ReadFile(path), "new");
  EXPECT_EQ(ReadFile(left), "left");
}

TEST_F(TemporaryFileTest, AFailureNamesTheFileThatWasAskedFor) {
  const std::string path = dir_.Path("no such folder/file");
  EXPECT_EQ(Replace(path, "text"), path + ": cannot write this file: No such file or directory");
}

}  // namespace
}  // namespace hunch

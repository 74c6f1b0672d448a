#include "learn/append_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/files.h"

namespace hunch {
namespace {

using testing::HasSubstr;

std::span<const std::byte> Bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(AppendFile, GrowsIsCutAndKeepsWhatItHas) {
  const TempDir dir;
  {
    AppendFile file = AppendFile::Open(dir.Path("f"), "diary").value();
    EXPECT_EQ(file.size(), 0u);
    ASSERT_TRUE(file.Append(Bytes("one two")).ok());
    ASSERT_TRUE(file.Cut(4).ok());
    ASSERT_TRUE(file.Append(Bytes("three")).ok());
    EXPECT_EQ(file.size(), 9u);
  }
  AppendFile file = AppendFile::Open(dir.Path("f"), "diary").value();
  ASSERT_EQ(file.size(), 9u);
  std::string text(5, ' ');
  ASSERT_TRUE(file.Read(4, std::as_writable_bytes(std::span(text))).ok());
  EXPECT_EQ(text, "three");
}

TEST(AppendFile, HasOneOwner) {
  const TempDir dir;
  const AppendFile file = AppendFile::Open(dir.Path("f"), "diary").value();
  EXPECT_THAT(AppendFile::Open(dir.Path("f"), "diary").error().message,
              HasSubstr("another process is writing this diary"));
}

TEST(AppendFile, IsARegularFile) {
  const TempDir dir;
  EXPECT_FALSE(AppendFile::Open(dir.path(), "diary").ok());
  EXPECT_THAT(AppendFile::Open("/dev/null", "diary").error().message,
              HasSubstr("is no regular file, and a diary is kept in one"));
}

}  // namespace
}  // namespace hunch

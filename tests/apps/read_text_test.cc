#include "apps/read_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "support/files.h"

namespace hunch {
namespace {

using ::testing::HasSubstr;

// A stream that never ends.
class Endless : public std::streambuf {
 protected:
  int_type underflow() override {
    setg(chunk_, chunk_, chunk_ + sizeof(chunk_));
    return traits_type::to_int_type(chunk_[0]);
  }

 private:
  char chunk_[100] = {};
};

TEST(ReadText, ReadsToTheEnd) {
  std::istringstream in("a\nb\n");
  EXPECT_EQ(ReadText(in).value(), "a\nb\n");
  EXPECT_EQ(ReadText(in).value(), "");
  std::istringstream limit("abc");
  EXPECT_EQ(ReadText(limit, 3).value(), "abc");
}

TEST(ReadText, RefusesMoreThanTheBound) {
  std::istringstream in("abcd");
  EXPECT_THAT(ReadText(in, 3).error().message, HasSubstr("more than 3 bytes"));
  Endless endless;
  std::istream never(&endless);
  EXPECT_THAT(ReadText(never, 1 << 20).error().message, HasSubstr("more than 1048576 bytes"));
}

TEST(ReadLine, GivesLineAfterLine) {
  std::istringstream in("a\n\nb\r\nlast");
  std::string line;
  for (const char* expected : {"a", "", "b\r", "last"}) {
    EXPECT_TRUE(ReadLine(in, line).value());
    EXPECT_EQ(line, expected);
  }
  EXPECT_FALSE(ReadLine(in, line).value());
}

TEST(ReadLine, RefusesALineWithoutEnd) {
  std::istringstream in("abc\nabcd\n");
  std::string line;
  EXPECT_TRUE(ReadLine(in, line, 3).value());
  EXPECT_THAT(ReadLine(in, line, 3).error().message, HasSubstr("more than 3 bytes"));
}

TEST(ReadTextFile, SaysWhatIsWrongWithAPath) {
  TempDir folder;
  EXPECT_EQ(ReadTextFile(folder.Write("a", "text\n")).value(), "text\n");
  EXPECT_EQ(ReadTextFile(folder.Path("absent")).error().code, ErrorCode::kNotFound);
  EXPECT_THAT(ReadTextFile(folder.path()).error().message, HasSubstr("is a folder, not a file"));
  EXPECT_THAT(ReadTextFile("/dev/zero", 1000).error().message,
              HasSubstr("/dev/zero: the text has more than 1000 bytes"));
}

// The first page of a process is never mapped, so reading it fails after opening went well.
TEST(ReadTextFile, AReadThatFailsIsAnErrorAndNoException) {
  const Result<std::string> text = ReadTextFile("/proc/self/mem");
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(text.error().message, "/proc/self/mem: cannot be read to its end");
}

}  // namespace
}  // namespace hunch

#include "apps/batch_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "support/files.h"

namespace hunch {
namespace {

using ::testing::HasSubstr;

std::vector<BatchLine> ReadAll(BatchInput& input) {
  std::vector<BatchLine> lines;
  BatchLine line;
  while (input.Next(line).value()) lines.push_back(line);
  return lines;
}

std::unique_ptr<BatchInput> Open(const std::string& path) {
  auto input = BatchInput::Open(path);
  EXPECT_TRUE(input.ok()) << input.error().message;
  return std::move(input).value();
}

TEST(BatchInput, LeavesOutBlankLinesAndWhatIsAroundLines) {
  TempDir folder;
  const auto input = Open(folder.Write("in", "\n  a\r\n \t\n\nb"));
  EXPECT_EQ(input->size(), 2);
  const auto lines = ReadAll(*input);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].text, "a");
  EXPECT_EQ(lines[0].number, 2);
  EXPECT_EQ(lines[1].text, "b");
  EXPECT_EQ(lines[1].number, 5);
}

TEST(BatchInput, AnIdIsOfTheLineAndNotOfItsPlace) {
  TempDir folder;
  const auto lines = ReadAll(*Open(folder.Write("in", "a\nb\na\na\n")));
  const auto moved = ReadAll(*Open(folder.Write("moved", "new\na\na\r\nb\na")));
  ASSERT_EQ(lines.size(), 4u);
  ASSERT_EQ(moved.size(), 5u);
  EXPECT_EQ(lines[0].id, moved[1].id);
  EXPECT_EQ(lines[1].id, moved[3].id);
  EXPECT_EQ(lines[2].id, moved[2].id);
  EXPECT_EQ(lines[3].id, moved[4].id);
  EXPECT_NE(lines[0].id, lines[2].id);
  EXPECT_NE(lines[2].id, lines[3].id);
}

TEST(BatchInput, KnowsItsIds) {
  TempDir folder;
  const auto input = Open(folder.Write("in", "a\nb\n"));
  for (const BatchLine& line : ReadAll(*input)) EXPECT_TRUE(input->Has(line.id));
  EXPECT_FALSE(input->Has(ReadAll(*Open(folder.Write("other", "c\n")))[0].id));
}

TEST(BatchInput, ALineWithoutEndTakesNoMoreThanItsShare) {
  TempDir folder;
  std::string text(BatchLines::kMostBytes + 10, 'x');
  const auto lines = ReadAll(*Open(folder.Write("in", text + "\nb\n" + text + "y\n")));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(lines[0].too_long);
  EXPECT_EQ(lines[0].text.size(), BatchLines::kMostBytes);
  EXPECT_FALSE(lines[1].too_long);
  EXPECT_EQ(lines[1].text, "b");
  EXPECT_TRUE(lines[2].too_long);
  EXPECT_NE(lines[0].id, lines[2].id);
}

TEST(BatchInput, ErrorsNameThePath) {
  TempDir folder;
  const auto absent = BatchInput::Open(folder.Path("absent"));
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(absent.error().message, HasSubstr("absent: No such file"));
  const auto empty = BatchInput::Open(folder.Write("empty", "\n \n"));
  ASSERT_FALSE(empty.ok());
  EXPECT_THAT(empty.error().message, HasSubstr("empty: holds no requests"));
  for (const std::string& path : {folder.path(), std::string("/dev/null")}) {
    const auto special = BatchInput::Open(path);
    ASSERT_FALSE(special.ok());
    EXPECT_THAT(special.error().message, HasSubstr(path + ": is no regular file"));
  }
}

TEST(BatchInput, AFileThatChangesMeanwhileIsAnError) {
  TempDir folder;
  for (const char* later : {"a\nx\n", "a\n"}) {
    const std::string path = folder.Write("in", "a\nb\n");
    const auto input = Open(path);
    folder.Write("in", later);
    BatchLine line;
    ASSERT_TRUE(input->Next(line).ok());
    const auto second = input->Next(line);
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, ErrorCode::kIo);
    EXPECT_THAT(second.error().message, HasSubstr("changed while it was read"));
  }
  const std::string path = folder.Write("in", "a\n");
  const auto input = Open(path);
  folder.Write("in", "a\nmore\n");
  EXPECT_EQ(ReadAll(*input).size(), 1u);
}

}  // namespace
}  // namespace hunch

// What a server keeps of its texts: read as it was written, within a cap, and no more of a damaged
// file than is sound.
#include "learn/segment_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <random>

#include "support/files.h"

namespace hunch {
namespace {

using testing::HasSubstr;

constexpr SegmentKind kKind = {{32, 3}, 77};
constexpr int kVocab = 500;

LearnedText MakeText(int tokens, uint32_t seed) {
  std::mt19937 random(seed);
  LearnedText text = {.temperature = 0.25f * static_cast<float>(seed % 3), .prompt = 16};
  for (int i = 0; i < tokens; ++i) text.tokens.push_back(static_cast<TokenId>(random() % kVocab));
  text.rows.resize(tokens * kKind.layout.row_bytes());
  for (std::byte& byte : text.rows) byte = static_cast<std::byte>(random());
  return text;
}

void ExpectSame(const SegmentReader::Text& read, const LearnedText& text) {
  EXPECT_EQ(read.temperature, text.temperature);
  EXPECT_EQ(read.prompt, text.prompt);
  EXPECT_EQ(read.tokens, text.tokens);
  EXPECT_TRUE(std::equal(read.rows.begin(), read.rows.end(), text.rows.begin(), text.rows.end()));
}

class SegmentFileTest : public testing::Test {
 protected:
  Result<SegmentWriter> Writer(uint64_t cap = 1 << 20, const SegmentKind& kind = kKind) {
    return SegmentWriter::Open(folder_, kind, cap);
  }
  SegmentReader Read(int64_t most_rows = 1 << 30) {
    return SegmentReader::Open(folder_, kKind, kVocab, most_rows).value();
  }
  std::string First() const { return folder_ + "/segment-00000001.rows"; }

  const TempDir dir_;
  const std::string folder_ = dir_.Path("learn");
};

TEST_F(SegmentFileTest, TextsAreReadAsTheyWereWritten) {
  std::vector<LearnedText> texts;
  for (uint32_t i = 0; i < 6; ++i) texts.push_back(MakeText(30 + 7 * i, i));
  for (int run = 0; run < 2; ++run) {
    SegmentWriter writer = Writer().value();
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(writer.Add(texts[3 * run + i]).ok());
    EXPECT_EQ(writer.segments(), run + 1) << "a run goes on in a file of its own";
  }
  const SegmentReader reader = Read();
  ASSERT_EQ(reader.texts().size(), 6u);
  for (int i = 0; i < 6; ++i) ExpectSame(reader.texts()[i], texts[i]);
}

TEST_F(SegmentFileTest, AreTheirOwnersOnly) {
  ASSERT_TRUE(Writer().ok());
  struct stat status = {};
  ASSERT_EQ(stat(folder_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 077, 0u);
}

TEST_F(SegmentFileTest, TheNewestAreReadFirst) {
  SegmentWriter writer = Writer(160'000).value();
  std::vector<LearnedText> texts;
  for (uint32_t i = 0; i < 9; ++i) {
    texts.push_back(MakeText(40, i));
    ASSERT_TRUE(writer.Add(texts.back()).ok());
  }
  ASSERT_GT(writer.segments(), 2);
  const SegmentReader reader = Read(100);
  ASSERT_EQ(reader.texts().size(), 3u);
  for (int i = 0; i < 3; ++i) ExpectSame(reader.texts()[i], texts[6 + i]);
}

TEST_F(SegmentFileTest, TheOldestGoWhenTheCapIsReached) {
  constexpr uint64_t kCap = 160'000;
  {
    SegmentWriter writer = Writer(kCap).value();
    for (uint32_t i = 0; i < 60; ++i) {
      ASSERT_TRUE(writer.Add(MakeText(40, i)).ok());
      EXPECT_LE(writer.bytes(), kCap);
    }
    uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      bytes += entry.file_size();
    }
    EXPECT_EQ(bytes, writer.bytes());
    EXPECT_GT(bytes, kCap / 2);
    const SegmentReader reader = Read();
    ASSERT_GT(reader.texts().size(), 8u);
    ExpectSame(reader.texts().back(), MakeText(40, 59));
    // Far too long for the cap.
    ASSERT_TRUE(writer.Add(MakeText(400, 1)).ok());
    EXPECT_EQ(Read().texts().size(), reader.texts().size());
  }
  // A later run with a lower cap.
  SegmentWriter writer = Writer(kCap / 2).value();
  ASSERT_TRUE(writer.Add(MakeText(40, 60)).ok());
  EXPECT_LE(writer.bytes(), kCap / 2);
}

TEST_F(SegmentFileTest, AnotherKindIsRefused) {
  {
    SegmentWriter writer = Writer().value();
    ASSERT_TRUE(writer.Add(MakeText(40, 1)).ok());
    EXPECT_THAT(Writer().error().message, HasSubstr("another process is writing this folder"));
  }
  for (const SegmentKind& other : {SegmentKind{{32, 3}, 78}, SegmentKind{{64, 3}, 77}}) {
    EXPECT_THAT(Writer(1 << 20, other).error().message, HasSubstr("name another folder"));
    EXPECT_FALSE(SegmentReader::Open(folder_, other, kVocab, 1000).ok());
  }
  EXPECT_TRUE(Writer().ok());
}

TEST_F(SegmentFileTest, WhatAKillLeftEndsAFile) {
  std::vector<LearnedText> texts = {MakeText(40, 1), MakeText(50, 2)};
  {
    SegmentWriter writer = Writer().value();
    for (const LearnedText& text : texts) ASSERT_TRUE(writer.Add(text).ok());
  }
  const std::string whole = ReadFile(First());
  const size_t record = whole.size() - 50 * (kKind.layout.row_bytes() + 4) - 24;
  for (size_t size = 0; size < whole.size(); size += 101) {
    dir_.Write("learn/segment-00000001.rows", whole.substr(0, size));
    const SegmentReader reader = Read();
    ASSERT_EQ(reader.texts().size(), size < record ? 0u : 1u) << size;
    if (size >= record) ExpectSame(reader.texts()[0], texts[0]);
  }
}

TEST_F(SegmentFileTest, NothingBehindADamageCounts) {
  {
    SegmentWriter writer = Writer().value();
    for (uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(writer.Add(MakeText(40, i)).ok());
  }
  const std::string whole = ReadFile(First());
  for (size_t at = 32; at < whole.size(); at += 37) {
    std::string damaged = whole;
    damaged[at] ^= 0x10;
    const auto texts = SegmentReader::TextsIn(std::as_bytes(std::span(damaged)), kKind, kVocab);
    const size_t before = (at - 32) / ((whole.size() - 32) / 3);
    ASSERT_EQ(texts.size(), before) << at;
  }
  // Sound, but of tokens that the vocabulary has not.
  EXPECT_TRUE(SegmentReader::TextsIn(std::as_bytes(std::span(whole)), kKind, 10).empty());
}

TEST(SegmentNumber, IsReadOutOfANameThatIsASegmentsOnly) {
  EXPECT_EQ(SegmentNumber("segment-00000012.rows"), 12u);
  for (const char* name : {"lock", "segment-.rows", "segment-1x.rows", "segment-1.row",
                           "segment--1.rows", "segment-99999999999.rows"}) {
    EXPECT_FALSE(SegmentNumber(name)) << name;
  }
}

}  // namespace
}  // namespace hunch

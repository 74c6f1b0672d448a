// Rows of several sequences, in any mixture, become texts without a gap.
#include "learn/text_assembler.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace hunch {
namespace {

constexpr FeatureLayout kLayout = {32, 2};

// The token at a position of a sequence, and a row that tells both.
TokenId TokenAt(int64_t sequence, int position) {
  return static_cast<TokenId>(1000 * sequence + position);
}
std::vector<std::byte> RowAt(int64_t sequence, int position) {
  std::vector<std::byte> row(kLayout.row_bytes());
  const TokenId token = TokenAt(sequence, position);
  std::memcpy(row.data(), &token, sizeof(token));
  return row;
}

class TextAssemblerTest : public testing::Test {
 protected:
  void Add(int64_t sequence, int position, int prompt = 20, bool last = false) {
    assembler_.Add({.sequence = sequence,
                    .position = position,
                    .token = TokenAt(sequence, position),
                    .next = TokenAt(sequence, position + 1),
                    .prompt = prompt,
                    .temperature = 0.5f,
                    .last = last},
                   RowAt(sequence, position));
  }
  // Positions [first, end) and the end of the sequence.
  void AddAll(int64_t sequence, int first, int end, int prompt = 20) {
    for (int at = first; at < end; ++at) Add(sequence, at, prompt, at == end - 1);
  }
  static void ExpectText(const LearnedText& text, int64_t sequence, int first, int tokens,
                         uint32_t prompt) {
    ASSERT_EQ(text.size(), tokens);
    EXPECT_EQ(text.prompt, prompt);
    EXPECT_EQ(text.temperature, 0.5f);
    ASSERT_EQ(text.rows.size(), tokens * kLayout.row_bytes());
    for (int i = 0; i < tokens; ++i) {
      EXPECT_EQ(text.tokens[i], TokenAt(sequence, first + i));
      const std::vector<std::byte> row =
          i + 1 < tokens ? RowAt(sequence, first + i) : std::vector<std::byte>(kLayout.row_bytes());
      EXPECT_EQ(std::memcmp(text.rows.data() + i * kLayout.row_bytes(), row.data(), row.size()), 0)
          << "row " << i;
    }
  }

  std::vector<LearnedText> texts_;
  TextAssembler assembler_{kLayout, 200 * kLayout.row_bytes(),
                           [this](LearnedText text) { texts_.push_back(std::move(text)); }};
};

TEST_F(TextAssemblerTest, SequencesSideBySideBecomeTextsOfTheirOwn) {
  for (int at = 0; at < 40; ++at) {
    Add(1, at, 20, at == 39);
    Add(2, at, 25, at == 39);
  }
  ASSERT_EQ(texts_.size(), 2u);
  ExpectText(texts_[0], 1, 0, 41, 20);
  ExpectText(texts_[1], 2, 0, 41, 25);
  EXPECT_EQ(assembler_.bytes(), 0u);
}

TEST_F(TextAssemblerTest, WhatIsReadAgainCountsOnce) {
  for (int at = 0; at < 30; ++at) Add(1, at);
  for (int at = 0; at < 36; ++at) Add(1, at, 20, at == 35);
  ASSERT_EQ(texts_.size(), 1u);
  ExpectText(texts_[0], 1, 0, 37, 20);
}

TEST_F(TextAssemblerTest, AGapEndsATextAndBeginsAnother) {
  for (int at = 0; at < 32; ++at) Add(1, at);
  AddAll(1, 40, 70);
  ASSERT_EQ(texts_.size(), 2u);
  ExpectText(texts_[0], 1, 0, 33, 20);
  // Its context is of the answer itself: what comes right behind a gap is not guessed.
  ExpectText(texts_[1], 1, 40, 31, TextAssembler::kLeastContext);
}

TEST_F(TextAssemblerTest, ATextThatTheCacheHadTheBeginningOfBeginsLater) {
  AddAll(1, 48, 90, 70);
  ASSERT_EQ(texts_.size(), 1u);
  ExpectText(texts_[0], 1, 48, 43, 22);
}

TEST_F(TextAssemblerTest, ShortAnswersTeachTooLittle) {
  AddAll(1, 0, 20 + TextAssembler::kLeastAnswer - 2);
  EXPECT_TRUE(texts_.empty());
  AddAll(2, 0, 20 + TextAssembler::kLeastAnswer - 1);
  EXPECT_EQ(texts_.size(), 1u);
  EXPECT_EQ(assembler_.bytes(), 0u);
}

TEST_F(TextAssemblerTest, UnfinishedTextsTakeNoMoreThanTheirRoom) {
  for (int sequence = 1; sequence <= 20; ++sequence) {
    for (int at = 0; at < 40; ++at) Add(sequence, at);
    EXPECT_LE(assembler_.bytes(), 200 * kLayout.row_bytes());
  }
  ASSERT_EQ(texts_.size(), 15u) << "five have room";
  ExpectText(texts_[0], 1, 0, 41, 20);
}

TEST_F(TextAssemblerTest, ALongTextIsSeveral) {
  TextAssembler roomy(kLayout, size_t{1} << 30,
                      [this](LearnedText text) { texts_.push_back(std::move(text)); });
  const std::vector<std::byte> row(kLayout.row_bytes());
  for (int at = 0; at < 3000; ++at) {
    roomy.Add({.sequence = 1, .position = at, .prompt = 20, .last = at == 2999}, row);
  }
  ASSERT_EQ(texts_.size(), 2u);
  EXPECT_EQ(texts_[0].size(), kMostLearnedTokens);
  EXPECT_EQ(texts_[1].size(), 3000 - kMostLearnedTokens + 2);
  EXPECT_EQ(texts_[1].prompt, static_cast<uint32_t>(TextAssembler::kLeastContext));
}

}  // namespace
}  // namespace hunch

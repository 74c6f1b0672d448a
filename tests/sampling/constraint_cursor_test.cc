#include "sampling/constraint_cursor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "support/fake_constraint.h"

namespace hunch {
namespace {

using Allowed = ConstraintCursor::Allowed;

constexpr int kVocab = 70;  // the last word of a mask is not full

std::unique_ptr<FakeConstraint> ByRule(ConstraintRule rule) {
  return std::make_unique<FakeConstraint>(kVocab, std::move(rule));
}

// Even after even tokens, odd after odd ones; at first all.
bool SameParity(const std::vector<TokenId>& output, TokenId token) {
  return output.empty() || output.back() % 2 == token % 2;
}

TEST(ConstraintCursor, IsAboutTheOutputOnly) {
  ConstraintCursor cursor(ByRule(SameParity), kVocab, 2);
  EXPECT_EQ(cursor.After(std::vector<TokenId>{5, 6}), Allowed::kAll);
  EXPECT_EQ(cursor.After(std::vector<TokenId>{5, 6, 7}), Allowed::kSome);
  EXPECT_EQ(cursor.FirstAllowed(), 1);
}

TEST(ConstraintCursor, MasksARowBitByBit) {
  ConstraintCursor cursor(
      ByRule([](const auto&, TokenId token) { return token < 32 || token == 40 || token == 69; }),
      kVocab, 0);
  ASSERT_EQ(cursor.After({}), Allowed::kSome);
  std::vector<float> row(kVocab), out(kVocab);
  for (int i = 0; i < kVocab; ++i) row[i] = static_cast<float>(i) - 30;
  cursor.Mask(row.data(), out.data());
  for (int i = 0; i < kVocab; ++i) {
    const bool allowed = i < 32 || i == 40 || i == 69;
    EXPECT_EQ(out[i], allowed ? row[i] : -INFINITY) << i;
  }
}

TEST(ConstraintCursor, AForbiddenPrefixLeavesNothing) {
  ConstraintCursor cursor(ByRule(SameParity), kVocab, 0);
  EXPECT_EQ(cursor.After(std::vector<TokenId>{2, 4, 5}), Allowed::kNothing);
  EXPECT_EQ(cursor.After(std::vector<TokenId>{2, 4, 5, 7}), Allowed::kNothing);
  EXPECT_EQ(cursor.After(std::vector<TokenId>{2, 4}), Allowed::kSome);
  EXPECT_FALSE(cursor.CompleteAfter(std::vector<TokenId>{2, 5}));
}

TEST(ConstraintCursor, FromAnyPrefixToAnyOtherItSaysTheSame) {
  std::mt19937 random(3);
  ConstraintCursor walked(ByRule(HashRule), kVocab, 1);
  std::vector<float> row(kVocab, 1.0f), by_walk(kVocab), afresh(kVocab);
  std::vector<TokenId> prefix = {9};
  int some = 0;
  for (int move = 0; move < 2000; ++move) {
    prefix.resize(1 + random() % prefix.size());
    for (unsigned more = random() % 4; more > 0; --more) {
      prefix.push_back(static_cast<TokenId>(random() % kVocab));
    }
    ConstraintCursor fresh(ByRule(HashRule), kVocab, 1);
    const Allowed wanted = fresh.After(prefix);
    ASSERT_EQ(walked.After(prefix), wanted);
    if (wanted != Allowed::kSome) continue;
    ++some;
    walked.Mask(row.data(), by_walk.data());
    fresh.Mask(row.data(), afresh.data());
    ASSERT_EQ(by_walk, afresh);
  }
  EXPECT_GT(some, 100);
}

TEST(ConstraintCursor, GoesTokenByTokenAndBack) {
  ConstraintCursor cursor(ByRule(SameParity), kVocab, 0);
  ASSERT_TRUE(cursor.MoveTo(std::vector<TokenId>{2}));
  EXPECT_TRUE(cursor.Push(4));
  EXPECT_FALSE(cursor.Push(5));
  EXPECT_TRUE(cursor.Push(6));
  cursor.Pop(3);
  EXPECT_TRUE(cursor.Push(5)) << "at the beginning everything is allowed";
}

}  // namespace
}  // namespace hunch

// Tests of the successor table: what it holds, what it gives up, and that chance does not enter.
#include "draft/successor_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace hunch {
namespace {

using Successors = SuccessorTable::Successors;

TEST(SuccessorTableTest, HoldsTheLatestOfEachContext) {
  SuccessorTable table(1024);
  std::map<uint64_t, Successors> reference;
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    const uint64_t key = SuccessorTable::Key(static_cast<TokenId>(random() % 10) - 1,
                                             static_cast<TokenId>(random() % 20));
    Successors successors;
    for (TokenId& token : successors) token = static_cast<TokenId>(random() % 100);
    table.Put(key, successors);
    reference[key] = successors;
  }
  EXPECT_EQ(table.contexts(), reference.size());
  for (const auto& [key, successors] : reference) {
    ASSERT_NE(table.Find(key), nullptr);
    EXPECT_EQ(*table.Find(key), successors);
  }
  EXPECT_EQ(table.Find(SuccessorTable::Key(50, 50)), nullptr);
  table.Clear();
  EXPECT_EQ(table.contexts(), 0u);
  for (const auto& [key, successors] : reference) EXPECT_EQ(table.Find(key), nullptr);
}

TEST(SuccessorTableTest, TheLatestToFollowComesFirst) {
  SuccessorTable table(16);
  const uint64_t key = SuccessorTable::Key(-1, 7);
  const auto first = [&](TokenId token) {
    table.PutFirst(key, token);
    return *table.Find(key);
  };
  EXPECT_EQ(first(1), (Successors{1, -1, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(first(2), (Successors{2, 1, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(first(1), (Successors{1, 2, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(first(1), (Successors{1, 2, -1, -1, -1, -1, -1, -1}));
  for (const TokenId token : {3, 4, 5, 6, 7, 8}) first(token);
  EXPECT_EQ(first(9), (Successors{9, 8, 7, 6, 5, 4, 3, 1}));
  EXPECT_EQ(first(1), (Successors{1, 9, 8, 7, 6, 5, 4, 3}));
}

TEST(SuccessorTableTest, IsBoundedAndGivesUpTheOldest) {
  SuccessorTable table(256);
  const size_t capacity = table.capacity();
  EXPECT_EQ(capacity, 256u);
  for (TokenId token = 0; token < 100000; ++token)
    table.PutFirst(SuccessorTable::Key(-1, token), token + 1);
  EXPECT_EQ(table.capacity(), capacity);
  EXPECT_LE(table.contexts(), capacity);
  EXPECT_GT(table.contexts(), capacity * 3 / 4);
  int kept = 0;
  for (TokenId token = 100000 - 100; token < 100000; ++token) {
    const Successors* found = table.Find(SuccessorTable::Key(-1, token));
    kept += found != nullptr && found->front() == token + 1;
  }
  EXPECT_GT(kept, 90);  // a set may be full of younger ones
  EXPECT_EQ(table.Find(SuccessorTable::Key(-1, 5)), nullptr);
}

TEST(SuccessorTableTest, ContextsOfOneAndOfTwoTokensAreApart) {
  SuccessorTable table(64);
  table.PutFirst(SuccessorTable::Key(-1, 3), 10);
  table.PutFirst(SuccessorTable::Key(0, 3), 11);
  table.PutFirst(SuccessorTable::Key(3, 0), 12);
  EXPECT_EQ(table.Find(SuccessorTable::Key(-1, 3))->front(), 10);
  EXPECT_EQ(table.Find(SuccessorTable::Key(0, 3))->front(), 11);
  EXPECT_EQ(table.Find(SuccessorTable::Key(3, 0))->front(), 12);
}

}  // namespace
}  // namespace hunch

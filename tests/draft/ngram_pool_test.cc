// Tests of the pool of n-grams against plain lists, and of its bound.
#include "draft/ngram_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace hunch {
namespace {

using Ids = std::vector<TokenId>;

std::vector<Ids> All(const NgramPool& pool, TokenId first) {
  std::vector<Ids> all;
  for (int i = 0; i < pool.Count(first); ++i) {
    const auto ngram = pool.Get(first, i);
    all.emplace_back(ngram.begin(), ngram.end());
  }
  return all;
}

TEST(NgramPoolTest, HoldsTheLatestFewOfEachFirstToken) {
  std::mt19937 random(1);
  for (const int per_token : {1, 2, 5}) {
    NgramPool pool(2, per_token, 64);
    std::map<TokenId, std::vector<Ids>> reference;  // the latest first
    for (int i = 0; i < 3000; ++i) {
      const auto first = static_cast<TokenId>(random() % 8);
      const Ids rest = {static_cast<TokenId>(random() % 3), static_cast<TokenId>(random() % 3)};
      pool.Put(first, rest);
      std::vector<Ids>& list = reference[first];
      list.erase(std::remove(list.begin(), list.end(), rest), list.end());
      list.insert(list.begin(), rest);
      if (list.size() > static_cast<size_t>(per_token)) list.pop_back();
      ASSERT_EQ(All(pool, first), list) << i;
    }
    for (const auto& [first, list] : reference) EXPECT_EQ(All(pool, first), list);
    EXPECT_EQ(pool.Count(9), 0);
    pool.Clear();
    for (const auto& [first, list] : reference) EXPECT_EQ(pool.Count(first), 0);
  }
}

TEST(NgramPoolTest, IsBoundedAndGivesUpTheOldest) {
  NgramPool pool(3, 4, 128);
  const size_t bytes = pool.bytes();
  for (TokenId first = 0; first < 50000; ++first)
    pool.Put(first, Ids{first + 1, first + 2, first + 3});
  EXPECT_EQ(pool.bytes(), bytes);
  int kept = 0;
  for (TokenId first = 50000 - 50; first < 50000; ++first) {
    if (pool.Count(first) == 0) continue;
    EXPECT_EQ(All(pool, first), (std::vector<Ids>{{first + 1, first + 2, first + 3}}));
    ++kept;
  }
  EXPECT_GT(kept, 45);
  EXPECT_EQ(pool.Count(3), 0);
}

}  // namespace
}  // namespace hunch

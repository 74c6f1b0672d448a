// Tests of the prefix cache: what is found, what never is, and in which order blocks go; on its own
// and through tables.
#include "kv/prefix_cache.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <numeric>
#include <random>

#include "kv/block_pool.h"

namespace hunch {
namespace {

using Tokens = std::vector<TokenId>;

Tokens Counting(int n, TokenId first = 0) {
  Tokens tokens(n);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

PrefixCache::Salt SaltOf(const char* text) { return std::make_shared<const std::string>(text); }

// A table that has read the tokens and shares them.
std::unique_ptr<BlockTable> Read(BlockPool& pool, const Tokens& tokens,
                                 const PrefixCache::Salt& salt = nullptr) {
  auto table = std::make_unique<BlockTable>(pool);
  const int adopted = table->Adopt(tokens, salt);
  table->Reserve(static_cast<int>(tokens.size()) - adopted)
      ->Commit(static_cast<int>(tokens.size()) - adopted);
  table->Share(tokens, salt);
  return table;
}

int Hit(BlockPool& pool, const Tokens& tokens, const PrefixCache::Salt& salt = nullptr) {
  BlockTable table(pool);
  const int known = table.Known(tokens, salt);
  EXPECT_EQ(table.Adopt(tokens, salt), known);
  return known;
}

TEST(PrefixCacheTest, FullBlocksAreAdoptedButNeverTheLastToken) {
  BlockPool pool(8, true);
  const auto table = Read(pool, Counting(40));
  EXPECT_EQ(Hit(pool, Counting(40)), 32);
  EXPECT_EQ(Hit(pool, Counting(33)), 32);
  EXPECT_EQ(Hit(pool, Counting(32)), 16) << "the last token's logits are wanted";
  EXPECT_EQ(Hit(pool, Counting(16)), 0);
  BlockTable other(pool);
  other.Adopt(Counting(40), nullptr);
  EXPECT_EQ(other.blocks(), (std::vector<int32_t>{table->blocks()[0], table->blocks()[1]}));
}

TEST(PrefixCacheTest, EveryTokenBeforeMatters) {
  BlockPool pool(8, true);
  const auto table = Read(pool, Counting(64));
  for (const int changed : {0, 15, 16, 40}) {
    Tokens tokens = Counting(64);
    tokens[changed] += 1000;
    EXPECT_EQ(Hit(pool, tokens), changed / 16 * 16) << changed;
  }
  // The same 16 tokens elsewhere are another block.
  EXPECT_EQ(Hit(pool, Counting(40, 16)), 0);
}

TEST(PrefixCacheTest, SaltsDoNotMeet) {
  BlockPool pool(8, true);
  const auto table = Read(pool, Counting(40), SaltOf("a"));
  EXPECT_EQ(Hit(pool, Counting(40), SaltOf("a")), 32);
  EXPECT_EQ(Hit(pool, Counting(40), SaltOf("b")), 0);
  EXPECT_EQ(Hit(pool, Counting(40)), 0);
}

TEST(PrefixCacheTest, BlocksOutliveTheirTableUntilTheirRoomIsNeeded) {
  BlockPool pool(4, true);
  Read(pool, Counting(64));
  EXPECT_EQ(pool.free_blocks(), 4);
  EXPECT_EQ(pool.prefixes()->idle_blocks(), 4);
  EXPECT_EQ(Hit(pool, Counting(65)), 64);
  // Other text takes two blocks: the end of the first goes, its beginning stays.
  Read(pool, Counting(32, 500));
  EXPECT_EQ(Hit(pool, Counting(65)), 32);
}

TEST(PrefixCacheTest, WhatFollowedAnEvictedBlockIsNotFoundBehindItsSuccessor) {
  PrefixCache cache(3);
  const PrefixCache::Id first = cache.Add(0, PrefixCache::kStart, Counting(16), nullptr);
  cache.Add(1, first, Counting(16, 16), nullptr);
  cache.SetIdle(0);
  EXPECT_EQ(cache.Evict(), 0);
  const PrefixCache::Id again = cache.Add(0, PrefixCache::kStart, Counting(16, 700), nullptr);
  EXPECT_EQ(cache.Find(again, Counting(16, 16), nullptr), PrefixCache::kNone);
  EXPECT_EQ(cache.Find(PrefixCache::kStart, Counting(16), nullptr), PrefixCache::kNone);
}

TEST(PrefixCacheTest, TheLongestIdleGoesFirst) {
  PrefixCache cache(3);
  for (int block = 0; block < 3; ++block) {
    cache.Add(block, PrefixCache::kStart, Counting(16, 100 * block), nullptr);
    cache.SetIdle(block);
  }
  cache.SetHeld(0);
  cache.SetIdle(0);
  EXPECT_EQ(cache.Evict(), 1);
  EXPECT_EQ(cache.Evict(), 2);
  EXPECT_EQ(cache.Evict(), 0);
  EXPECT_EQ(cache.Evict(), PrefixCache::kNone);
}

TEST(PrefixCacheTest, TwoThatReadTheSameTextAtOnceKeepTheirOwnBlocks) {
  BlockPool pool(8, true);
  BlockTable one(pool), two(pool);
  one.Reserve(32)->Commit(32);
  two.Reserve(32)->Commit(32);
  one.Share(Counting(32), nullptr);
  two.Share(Counting(32), nullptr);
  const BlockTable* tables[] = {&one, &two};
  EXPECT_EQ(ValidateKv(pool, tables), "");
  two.Clear();
  EXPECT_EQ(pool.prefixes()->idle_blocks(), 0);
  EXPECT_EQ(pool.free_blocks(), 6);
  EXPECT_EQ(Hit(pool, Counting(33)), 32);
}

TEST(PrefixCacheTest, NothingIsSharedUnlessAskedFor) {
  BlockPool pool(8);
  const auto table = Read(pool, Counting(40));
  EXPECT_EQ(Hit(pool, Counting(40)), 0);
}

TEST(PrefixCacheDeathTest, AKnownBlockIsNotCut) {
  BlockPool pool(8, true);
  const auto table = Read(pool, Counting(40));
  EXPECT_DEATH(table->Truncate(20), "20 2");
}

// Texts from a small alphabet of blocks, so that they share much; what each block holds is written
// down as it is filled, and whoever adopts it must find its own tokens there.
TEST(PrefixCacheTest, RandomTrafficFindsOnlyItsOwnTokens) {
  std::mt19937 random(5);
  BlockPool pool(14, true);
  struct Reader {
    explicit Reader(BlockPool& pool) : table(pool) {}
    BlockTable table;
    Tokens tokens;
    PrefixCache::Salt salt;
  };
  std::vector<std::unique_ptr<Reader>> readers;
  std::map<int32_t, std::pair<std::string, Tokens>> contents;  // of a block: salt, tokens up to it
  int hits = 0, evicted = 0;
  for (int step = 0; step < 20000; ++step) {
    if (readers.size() < 5 && random() % 2 == 0) {
      auto reader = std::make_unique<Reader>(pool);
      for (unsigned block = random() % 6; block-- > 0;) {
        const Tokens piece = Counting(16, static_cast<TokenId>(random() % 3) * 16);
        reader->tokens.insert(reader->tokens.end(), piece.begin(), piece.end());
      }
      reader->tokens.resize(reader->tokens.size() + 1 + random() % 16, 99);
      if (random() % 3 == 0) reader->salt = SaltOf("x");
      readers.push_back(std::move(reader));
    }
    if (readers.empty()) continue;
    const size_t at = random() % readers.size();
    Reader& reader = *readers[at];
    const std::string salt = reader.salt == nullptr ? "" : *reader.salt;
    if (reader.table.committed() == 0) {
      hits += reader.table.Adopt(reader.tokens, reader.salt) > 0;
      for (int slot = 0; slot < reader.table.committed(); slot += 16) {
        const auto& [known_salt, known] = contents[reader.table.blocks()[slot / 16]];
        ASSERT_EQ(known, Tokens(reader.tokens.begin(), reader.tokens.begin() + slot + 16));
        ASSERT_EQ(known_salt, salt);
      }
    }
    const int left = static_cast<int>(reader.tokens.size()) - reader.table.committed();
    const int rows = std::min<int>(left, 1 + random() % 20);
    auto reservation = left == 0 || random() % 10 == 0 ? std::nullopt : reader.table.Reserve(rows);
    if (!reservation) {
      evicted += pool.free_blocks() == 0;
      readers.erase(readers.begin() + static_cast<int>(at));
    } else {
      reservation->Commit(rows);
      for (int slot = 0; slot + 16 <= reader.table.committed(); slot += 16) {
        contents[reader.table.blocks()[slot / 16]] = {
            salt, Tokens(reader.tokens.begin(), reader.tokens.begin() + slot + 16)};
      }
      reservation.reset();
      reader.table.Share(reader.tokens, reader.salt);
    }
    std::vector<const BlockTable*> tables;
    for (const auto& other : readers) tables.push_back(&other->table);
    ASSERT_EQ(ValidateKv(pool, tables), "") << step;
  }
  EXPECT_GT(hits, 1000);
  EXPECT_GT(evicted, 10);
}

}  // namespace
}  // namespace hunch

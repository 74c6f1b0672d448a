#include "kv/block_pool.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>

namespace hunch {
namespace {

TEST(BlockPool, ReservationCommitsAPrefixAndReleasesTheRest) {
  BlockPool pool(8);
  BlockTable table(pool);
  {
    auto reservation = table.Reserve(40);
    ASSERT_TRUE(reservation.has_value());
    EXPECT_EQ(table.blocks().size(), 3u);
    reservation->Commit(17);
  }
  EXPECT_EQ(table.committed(), 17);
  EXPECT_EQ(table.blocks().size(), 2u);
  EXPECT_EQ(pool.free_blocks(), 6);
}

TEST(BlockPool, DroppedReservationChangesNothing) {
  BlockPool pool(8);
  BlockTable table(pool);
  table.Reserve(16)->Commit(16);
  const auto before = table.blocks();
  { auto reservation = table.Reserve(33); }
  EXPECT_EQ(table.blocks(), before);
  EXPECT_EQ(table.committed(), 16);
  EXPECT_EQ(pool.free_blocks(), 7);
}

TEST(BlockPool, RejectedDraftKeepsTheCommittedBlocksInPlace) {
  BlockPool pool(8);
  BlockTable table(pool);
  table.Reserve(20)->Commit(20);
  const auto before = table.blocks();
  table.Reserve(30)->Commit(1);
  EXPECT_EQ(table.blocks(), before);  // the same blocks: nothing was copied
}

TEST(BlockPool, OutOfCapacityIsAnOutcomeAndTakesNothing) {
  BlockPool pool(2);
  BlockTable table(pool);
  EXPECT_FALSE(table.Reserve(33).has_value());
  EXPECT_EQ(pool.free_blocks(), 2);
  EXPECT_TRUE(table.Reserve(32).has_value());
}

TEST(BlockPoolDeathTest, FreeingTwiceIsABug) {
  BlockPool pool(2);
  const int32_t block = *pool.Take();
  pool.Give(block);
  EXPECT_DEATH(pool.Give(block), "freed twice");
}

TEST(BlockPool, RandomTrafficKeepsTheInvariants) {
  std::mt19937 random(7);
  BlockPool pool(64);
  std::vector<std::unique_ptr<BlockTable>> tables;
  for (int i = 0; i < 5; ++i) tables.push_back(std::make_unique<BlockTable>(pool));
  std::vector<const BlockTable*> views;
  for (const auto& table : tables) views.push_back(table.get());
  for (int step = 0; step < 5000; ++step) {
    BlockTable& table = *tables[random() % tables.size()];
    const int slots = static_cast<int>(random() % 50);
    if (random() % 4 == 0) {
      table.Truncate(table.committed() == 0 ? 0 : static_cast<int>(random() % table.committed()));
    } else if (auto reservation = table.Reserve(slots)) {
      if (random() % 3 != 0)
        reservation->Commit(slots == 0 ? 0 : static_cast<int>(random() % slots));
    }
    ASSERT_EQ(ValidateKv(pool, views), "");
  }
}

}  // namespace
}  // namespace hunch

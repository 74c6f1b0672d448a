#include "learn/row_ring.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

namespace hunch {
namespace {

bool Put(RowRing& ring, int64_t number) {
  const auto slot = ring.Claim();
  if (!slot) return false;
  slot->label = {.sequence = number};
  std::memcpy(slot->row.data(), &number, sizeof(number));
  ring.Publish();
  return true;
}

TEST(RowRing, GivesRowsInTheirOrderAndDropsWhatFindsNoRoom) {
  RowRing ring(sizeof(int64_t), 3);
  EXPECT_FALSE(ring.Front());
  for (int64_t number = 0; number < 5; ++number) EXPECT_EQ(Put(ring, number), number < 3);
  EXPECT_EQ(ring.dropped(), 2);
  for (int64_t number : {0, 1}) {
    ASSERT_TRUE(ring.Front());
    EXPECT_EQ(ring.Front()->label.sequence, number);
    ring.Pop();
  }
  EXPECT_TRUE(Put(ring, 7));
  EXPECT_EQ(ring.Front()->label.sequence, 2);
  ring.Pop();
  EXPECT_EQ(ring.Front()->label.sequence, 7);
  ring.Pop();
  EXPECT_FALSE(ring.Front());
}

TEST(RowRing, TwoThreadsLoseAndMixNothing) {
  constexpr int64_t kRows = 200'000;
  RowRing ring(sizeof(int64_t), 17);
  std::thread putter([&] {
    for (int64_t number = 0; number < kRows; ++number) {
      while (!Put(ring, number)) std::this_thread::yield();
    }
  });
  for (int64_t wanted = 0; wanted < kRows;) {
    const auto slot = ring.Front();
    if (!slot) {
      std::this_thread::yield();
      continue;
    }
    int64_t number = -1;
    std::memcpy(&number, slot->row.data(), sizeof(number));
    ASSERT_EQ(number, wanted);
    ASSERT_EQ(slot->label.sequence, wanted);
    ring.Pop();
    ++wanted;
  }
  putter.join();
}

}  // namespace
}  // namespace hunch

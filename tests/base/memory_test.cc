// What the process holds follows what it touches; what is available is a sane number.
#include "base/memory.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/aligned_buffer.h"

namespace hunch {
namespace {

TEST(MemoryTest, ResidentGrowsWithTouchedPages) {
  const uint64_t before = ResidentBytes();
  ASSERT_GT(before, 0u);
  constexpr size_t kBytes = 64u << 20;
  AlignedBuffer buffer = AlignedBuffer::Create(kBytes).value();
  std::memset(buffer.data(), 1, kBytes);
  EXPECT_GE(ResidentBytes(), before + kBytes / 2);
}

TEST(MemoryTest, AvailableIsBetweenNothingAndAnyMachine) {
  EXPECT_GT(AvailableMemoryBytes(), uint64_t{1} << 20);
  EXPECT_LT(AvailableMemoryBytes(), uint64_t{1} << 50);
}

}  // namespace
}  // namespace hunch

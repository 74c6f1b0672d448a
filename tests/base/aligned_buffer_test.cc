// AlignedBuffer: zeroed, aligned, moved without a copy, and an error when memory is short.
#include "base/aligned_buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

namespace hunch {
namespace {

TEST(AlignedBufferTest, ZeroedAndAligned) {
  for (size_t bytes : {size_t{1}, size_t{63}, size_t{64}, size_t{4097}, size_t{5} << 20}) {
    const AlignedBuffer buffer = AlignedBuffer::Create(bytes).value();
    EXPECT_EQ(buffer.size(), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u);
    for (size_t i = 0; i < bytes; i += 61) ASSERT_EQ(buffer.data()[i], std::byte{0});
    ASSERT_EQ(buffer.data()[bytes - 1], std::byte{0});
  }
}

TEST(AlignedBufferTest, EmptyIsAllowed) {
  EXPECT_EQ(AlignedBuffer::Create(0).value().size(), 0u);
  EXPECT_EQ(AlignedBuffer().data(), nullptr);
}

TEST(AlignedBufferTest, MoveHandsTheMemoryOver) {
  AlignedBuffer first = AlignedBuffer::Create(100).value();
  const std::byte* memory = first.data();
  AlignedBuffer second = std::move(first);
  EXPECT_EQ(second.data(), memory);
  EXPECT_EQ(second.size(), 100u);
}

TEST(AlignedBufferTest, ImpossibleSizeIsAnErrorThatSaysHowMuch) {
  const auto buffer = AlignedBuffer::Create(size_t{1} << 62);
  ASSERT_FALSE(buffer.ok());
  EXPECT_EQ(buffer.error().code, ErrorCode::kResourceExhausted);
  EXPECT_NE(buffer.error().message.find("MB"), std::string::npos);
}

}  // namespace
}  // namespace hunch

#include "kernels/pack.h"

#include <gtest/gtest.h>

#include "kernels/matmul_support.h"
#include "kernels/pack_layout.h"

namespace hunch {
namespace {

class PackEachType : public testing::TestWithParam<TensorType> {};

TEST_P(PackEachType, UnpackRowEqualsDequantize) {
  const TensorType type = GetParam();
  const int64_t rows = 35, columns = 768;  // the last group has 3 rows
  const auto bytes = RandomWeights(type, rows, columns, 1);
  const PackedMatrix packed = PackOrDie(type, rows, columns, bytes);
  const size_t row_bytes = BytesOf(type, columns);
  std::vector<float> expected(columns), actual(columns);
  for (int64_t row = 0; row < rows; ++row) {
    Dequantize(type, {&bytes[static_cast<size_t>(row) * row_bytes], row_bytes}, expected);
    packed.UnpackRow(row, actual.data());
    for (size_t k = 0; k < expected.size(); ++k) {
      ASSERT_TRUE(SameBits(expected[k], actual[k])) << "row " << row << " column " << k;
    }
  }
}

TEST_P(PackEachType, AnyBytesPackAndUnpack) {
  // Infinite, NaN and subnormal scales among them: a hostile file must not crash.
  const TensorType type = GetParam();
  const int64_t rows = 16, columns = 2048;
  std::vector<std::byte> bytes(BytesOf(type, rows * columns));
  std::mt19937 random(2);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random() & 255);
  const PackedMatrix packed = PackOrDie(type, rows, columns, bytes);
  std::vector<float> expected(rows * columns), actual(columns);
  Dequantize(type, bytes, expected);
  for (int64_t row = 0; row < rows; ++row) {
    packed.UnpackRow(row, actual.data());
    for (int64_t k = 0; k < columns; ++k) {
      ASSERT_TRUE(SameBits(expected[static_cast<size_t>(row * columns + k)],
                           actual[static_cast<size_t>(k)]))
          << "row " << row << " column " << k;
    }
  }
}

TEST_P(PackEachType, PackedBytesStayNearTheFile) {
  const TensorType type = GetParam();
  const size_t file = BytesOf(type, int64_t{1024} * 2048);
  const size_t packed = PackedMatrix::PackedBytes(type, 1024, 2048);
  EXPECT_GE(packed, file);
  EXPECT_LE(static_cast<double>(packed), 1.04 * static_cast<double>(file));
  EXPECT_EQ(PackOrDie(type, 1024, 2048, std::vector<std::byte>(file)).bytes(), packed);
}

TEST_P(PackEachType, ChunkRoundTripKeepsEveryField) {
  const TensorType type = GetParam();
  const PackLayout layout = PackLayoutOf(type);
  if (layout.scales == ScaleKind::kNone) {
    EXPECT_FALSE(UsesQuantizedActs(type));
    return;
  }
  const auto bytes = RandomWeights(type, kGroupRows, layout.chunk_weights, 3);
  const size_t block_bytes = bytes.size() / kGroupRows;
  std::vector<BlockCodes> blocks(kGroupRows);
  for (size_t row = 0; row < kGroupRows; ++row) {
    UnpackCodes(type, &bytes[row * block_bytes], &blocks[row]);
  }
  std::vector<std::byte> chunk(static_cast<size_t>(layout.chunk_bytes), std::byte{0xA5});
  PackChunk(type, blocks.data(), chunk.data());
  for (int row = 0; row < kGroupRows; ++row) {
    const BlockCodes& expected = blocks[static_cast<size_t>(row)];
    BlockCodes actual;
    UnpackChunk(type, chunk.data(), row, &actual);
    ASSERT_EQ(actual.elements, expected.elements);
    ASSERT_EQ(actual.group_elements, expected.group_elements);
    ASSERT_EQ(actual.has_offset, expected.has_offset);
    ASSERT_EQ(actual.d, expected.d);
    ASSERT_EQ(actual.dmin, expected.dmin);
    ASSERT_EQ(std::memcmp(actual.codes, expected.codes, static_cast<size_t>(actual.elements)), 0);
    for (int g = 0; g < actual.elements / actual.group_elements; ++g) {
      ASSERT_EQ(actual.sub_scale[g], expected.sub_scale[g]);
      ASSERT_EQ(actual.sub_min[g], expected.sub_min[g]);
      ASSERT_EQ(actual.scale[g], expected.scale[g]);
      if (actual.has_offset) {
        ASSERT_EQ(actual.offset[g], expected.offset[g]);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, PackEachType, testing::ValuesIn(AllTypes()),
                         [](const auto& info) { return TypeName(info.param); });

TEST(PackedMatrix, ThreadsPackTheSameBytes) {
  const auto bytes = RandomWeights(TensorType::kQ4_K, 100, 512, 4);
  ThreadPool pool(3);
  auto three = PackedMatrix::Pack(TensorType::kQ4_K, 100, 512, bytes, pool);
  ASSERT_TRUE(three.ok());
  const PackedMatrix one = PackOrDie(TensorType::kQ4_K, 100, 512, bytes);
  ASSERT_EQ(three->bytes(), one.bytes());
  EXPECT_EQ(std::memcmp(three->data(), one.data(), one.bytes()), 0);
}

TEST(PackedMatrix, RefusesShapesThatDoNotFit) {
  ThreadPool pool(1);
  const std::vector<std::byte> bytes(18 * 4);
  auto odd = PackedMatrix::Pack(TensorType::kQ4_0, 4, 33, bytes, pool);
  ASSERT_FALSE(odd.ok());
  EXPECT_NE(odd.error().message.find("multiple of 32"), std::string::npos);
  auto short_file = PackedMatrix::Pack(TensorType::kQ4_0, 5, 32, bytes, pool);
  ASSERT_FALSE(short_file.ok());
  EXPECT_NE(short_file.error().message.find("72 bytes"), std::string::npos);
  EXPECT_FALSE(PackedMatrix::Pack(TensorType::kQ4_0, 0, 32, bytes, pool).ok());
  EXPECT_FALSE(PackedMatrix::Pack(TensorType::kQ4_0, 4, -32, bytes, pool).ok());
  EXPECT_TRUE(PackedMatrix::Pack(TensorType::kQ4_0, 4, 32, bytes, pool).ok());
}

}  // namespace
}  // namespace hunch

// Every block type's unpack equals the gguf package's dequantize, bit for bit (golden files made by
// scripts/make_quant_golden.py), and UnpackCodes tells the same weights.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "quant/quant.h"
#include "quant/unpack.h"
#include "support/files.h"

namespace hunch {
namespace {

bool SameBits(float a, float b) {
  // A NaN's sign and payload depend on the order of operands; only that it is one is a promise.
  if (std::isnan(a) && std::isnan(b)) return true;
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

class DequantizeGolden : public testing::TestWithParam<TensorType> {
 protected:
  const TypeTraits& traits_ = GetTypeTraits(GetParam());
  const std::vector<std::byte> blocks_ =
      ReadGoldenArray<std::byte>("quant/" + std::string(traits_.name) + ".blocks");
  const std::vector<float> expected_ =
      ReadGoldenArray<float>("quant/" + std::string(traits_.name) + ".f32");
};

TEST_P(DequantizeGolden, EqualsTheGgufPackage) {
  ASSERT_GT(expected_.size(), 2000u);
  std::vector<float> weights(expected_.size());
  Dequantize(GetParam(), blocks_, weights);
  for (size_t i = 0; i < weights.size(); ++i) {
    ASSERT_TRUE(SameBits(weights[i], expected_[i]))
        << traits_.name << " weight " << i << ": " << weights[i] << " vs " << expected_[i];
  }
}

TEST_P(DequantizeGolden, UnalignedBlocksGiveTheSame) {
  std::vector<std::byte> shifted(blocks_.size() + 1);
  std::copy(blocks_.begin(), blocks_.end(), shifted.begin() + 1);
  std::vector<float> weights(expected_.size());
  Dequantize(GetParam(), std::span(shifted).subspan(1), weights);
  for (size_t i = 0; i < weights.size(); ++i) {
    ASSERT_TRUE(SameBits(weights[i], expected_[i])) << i;
  }
}

TEST_P(DequantizeGolden, CodesAndScalesGiveTheWeights) {
  BlockCodes block;
  std::set<int> codes_seen;
  for (size_t b = 0; b < blocks_.size() / static_cast<size_t>(traits_.block_bytes); ++b) {
    UnpackCodes(GetParam(), &blocks_[b * static_cast<size_t>(traits_.block_bytes)], &block);
    ASSERT_EQ(block.elements, traits_.block_elements);
    for (int i = 0; i < block.elements; ++i) {
      const int group = i / block.group_elements;
      const float code = block.codes[i];
      codes_seen.insert(block.codes[i]);
      // Each format's formula as blocks.h has it, from the raw scales.
      const float scale = block.d * static_cast<float>(block.sub_scale[group]);
      float weight = scale * code;
      if (block.has_offset) {
        const float sub_min = block.sub_min[group];
        weight = block.elements == 32 ? weight + block.dmin : weight - block.dmin * sub_min;
      }
      ASSERT_TRUE(SameBits(scale, block.scale[group]));
      ASSERT_TRUE(SameBits(
          weight, expected_[b * static_cast<size_t>(block.elements) + static_cast<size_t>(i)]))
          << traits_.name << " block " << b << " weight " << i;
    }
  }
  // All codes of the format occur, from the lowest to the highest.
  const int levels = GetParam() == TensorType::kQ8_0     ? 256
                     : GetParam() == TensorType::kQ6_K   ? 64
                     : GetParam() == TensorType::kQ2_K   ? 4
                     : GetParam() == TensorType::kQ3_K   ? 8
                     : traits_.name.substr(0, 2) == "Q5" ? 32
                                                         : 16;
  EXPECT_EQ(codes_seen.size(), static_cast<size_t>(levels));
}

INSTANTIATE_TEST_SUITE_P(Types, DequantizeGolden,
                         testing::Values(TensorType::kQ4_0, TensorType::kQ4_1, TensorType::kQ5_0,
                                         TensorType::kQ5_1, TensorType::kQ8_0, TensorType::kQ2_K,
                                         TensorType::kQ3_K, TensorType::kQ4_K, TensorType::kQ5_K,
                                         TensorType::kQ6_K, TensorType::kIQ4_NL),
                         [](const auto& info) {
                           return std::string(GetTypeTraits(info.param).name);
                         });

TEST(Dequantize, PlainTypes) {
  const std::vector<std::byte> halves = {std::byte{0x00}, std::byte{0x3C}, std::byte{0x80},
                                         std::byte{0xBF}};
  std::vector<float> out(2);
  Dequantize(TensorType::kF16, halves, out);
  EXPECT_EQ(out, (std::vector<float>{1.0f, -1.875f}));
  Dequantize(TensorType::kBF16, halves, out);
  EXPECT_EQ(out, (std::vector<float>{0x1p-7f, -1.0f}));
  out.resize(1);
  Dequantize(TensorType::kF32, halves, out);
  EXPECT_EQ(std::bit_cast<uint32_t>(out[0]), 0xBF803C00u);
}

TEST(Dequantize, AnEmptyTensorIsNothing) {
  Dequantize(TensorType::kQ4_K, {}, {});
  Dequantize(TensorType::kF32, {}, {});
  EXPECT_EQ(BytesOf(TensorType::kQ6_K, 0), 0u);
}

TEST(DequantizeDeathTest, WrongSizesAreBugs) {
  std::vector<std::byte> bytes(18);
  std::vector<float> out(31);
  EXPECT_DEATH(Dequantize(TensorType::kQ4_0, bytes, out), "Q4_0");
  out.resize(64);
  EXPECT_DEATH(Dequantize(TensorType::kQ4_0, bytes, out), "18 vs 36");
  EXPECT_DEATH(BytesOf(TensorType::kQ4_K, 32), "Q4_K");
  BlockCodes codes;
  EXPECT_DEATH(UnpackCodes(TensorType::kF16, bytes.data(), &codes), "F16");
}

}  // namespace
}  // namespace hunch

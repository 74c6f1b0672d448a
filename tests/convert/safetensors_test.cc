// Tests of safetensors files: what is written is read, and nothing outside of the file is pointed
// at.
#include "convert/safetensors.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/published.h"

namespace hunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string MessageOf(const std::string& file) {
  const auto read = ParseSafetensors(ToBytes(file), "s");
  return read.ok() ? "it was read" : read.error().message;
}

const RawTensors kSmall = {{"a", FloatTensor({2, 2}, {1, 2, 3, -4})},
                           {"b", {"I64", {1}, Raw(int64_t{-7})}},
                           {"c", {"BF16", {2}, Raw(uint16_t{0x3F80}) + Raw(uint16_t{0xC000})}}};

TEST(Safetensors, GivesEachTensorsNumbers) {
  const std::vector<std::byte> file = ToBytes(SafetensorsOf(kSmall));
  const auto tensors = ParseSafetensors(file, "s");
  ASSERT_TRUE(tensors.ok()) << tensors.error().message;
  ASSERT_EQ(tensors->size(), 3u);
  EXPECT_THAT(tensors->at("a").shape, ElementsAre(2, 2));
  std::vector<float> three(3), two(2);
  ReadFloats(tensors->at("a"), 1, three);
  EXPECT_THAT(three, ElementsAre(2, 3, -4));
  EXPECT_THAT(ReadInts(tensors->at("b")).value(), ElementsAre(-7));
  EXPECT_FALSE(ReadInts(tensors->at("a")).has_value());
  ReadFloats(tensors->at("c"), 0, two);
  EXPECT_THAT(two, ElementsAre(1, -2));
}

TEST(Safetensors, WhatIsWrongWithATableIsSaid) {
  const auto message = [](const std::string& entry) {
    return MessageOf(SafetensorsFile(R"({"w": )" + entry + "}", "12345678"));
  };
  const auto tensor = [&](const char* dtype, const char* shape, const char* offsets) {
    return message(
        fmt::format(R"({{"dtype": {}, "shape": {}, "data_offsets": {}}})", dtype, shape, offsets));
  };
  EXPECT_EQ(tensor("\"F32\"", "[2]", "[0, 8]"), "it was read");
  EXPECT_EQ(tensor("\"F32\"", "[]", "[4, 8]"), "it was read");
  EXPECT_EQ(tensor("\"F32\"", "[0, 5]", "[8, 8]"), "it was read");
  EXPECT_EQ(tensor("\"F8_E4M3\"", "[8]", "[0, 8]"),
            "s: tensor w: dtype \"F8_E4M3\" is none that Hunch reads");
  EXPECT_THAT(tensor("4", "[2]", "[0, 8]"), HasSubstr("dtype 4"));
  for (const char* shape :
       {"[3]", "[1]", "[4294967296, 4294967296, 4]", "[4611686018427387904, 4]"}) {
    EXPECT_THAT(tensor("\"F32\"", shape, "[0, 8]"), HasSubstr("enclose 8 bytes")) << shape;
  }
  for (const char* shape :
       {"[-2]", "[2.0]", "2", "null", "[\"2\"]", "[1,1,1,1,1,1,1,1,2]", "[18446744073709551615]"}) {
    EXPECT_THAT(tensor("\"F32\"", shape, "[0, 8]"), HasSubstr("shape is no list")) << shape;
  }
  for (const char* offsets : {"[0, 9]", "[8, 0]", "[0]", "[]", "[9, 9]"}) {
    EXPECT_THAT(tensor("\"F32\"", "[2]", offsets), HasSubstr("do not lie in the 8 bytes"))
        << offsets;
  }
  EXPECT_THAT(tensor("\"F32\"", "[2]", "[-1, 7]"), HasSubstr("data_offsets is no list"));
  EXPECT_THAT(message("[]"), HasSubstr("it is no object"));
  EXPECT_THAT(message("{}"), HasSubstr("dtype (absent)"));
  EXPECT_THAT(MessageOf(SafetensorsFile("[1]", "")), HasSubstr("expected an object"));
  EXPECT_THAT(MessageOf(SafetensorsFile("{", "")), HasSubstr("s: its table: bad JSON"));
  EXPECT_THAT(MessageOf(SafetensorsFile(std::string(300, '['), "")), HasSubstr("bad JSON"));
  EXPECT_THAT(MessageOf(Raw(uint64_t{1} << 40) + "{}"), HasSubstr("no safetensors file"));
  EXPECT_THAT(MessageOf(Raw(~uint64_t{0}) + "{}"), HasSubstr("no safetensors file"));
}

TEST(Safetensors, EveryCutIsRefusedAndEveryFlippedBitSurvived) {
  const std::string file = SafetensorsOf(kSmall);
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_NE(MessageOf(file.substr(0, size)), "it was read") << size;
  }
  for (size_t bit = 0; bit < file.size() * 8; ++bit) {
    std::vector<std::byte> damaged = ToBytes(file);
    damaged[bit / 8] ^= std::byte(1 << bit % 8);
    const auto tensors = ParseSafetensors(damaged, "s");
    if (!tensors.ok()) continue;
    for (const auto& [name, tensor] : *tensors) {
      EXPECT_LE(tensor.data.data() + tensor.data.size(), damaged.data() + damaged.size());
      EXPECT_EQ(CheckedBytes(tensor.type, tensor.shape), static_cast<int64_t>(tensor.data.size()));
    }
  }
}

}  // namespace
}  // namespace hunch

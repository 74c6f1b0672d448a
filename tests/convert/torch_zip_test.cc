// Tests of torch's checkpoints: what torch itself wrote is read, and damage is refused or survived.
#include "convert/torch_zip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/files.h"
#include "support/published.h"

namespace hunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string MessageOf(const std::string& file) {
  const auto read = ParseTorchZip(ToBytes(file), "t");
  return read.ok() ? "it was read" : read.error().message;
}

TEST(TorchZip, ReadsWhatTorchWrites) {
  const std::vector<std::byte> file =
      ToBytes(ReadFile(GoldenPath("heads/eagle3/pytorch_model.bin")));
  const auto tensors = ParseTorchZip(file, "t");
  ASSERT_TRUE(tensors.ok()) << tensors.error().message;
  EXPECT_EQ(tensors->size(), 16u);
  const NamedTensor& fc = tensors->at("fc.weight");
  EXPECT_EQ(fc.type, NumberType::kF16);
  EXPECT_THAT(fc.shape, ElementsAre(32, 96));
  EXPECT_EQ(tensors->at("t2d").type, NumberType::kBool);
  // As the generator chose them: a token each, ascending.
  const auto golden =
      nlohmann::json::parse(ReadFile(GoldenPath("heads/eagle3/golden.json")))["tokens"];
  const auto offsets = ReadInts(tensors->at("d2t")).value();
  ASSERT_EQ(offsets.size(), golden.size());
  for (size_t row = 0; row < offsets.size(); ++row) {
    EXPECT_EQ(offsets[row] + static_cast<int64_t>(row), golden[row].get<int64_t>());
  }
}

TEST(TorchZip, WhatIsNoCheckpointIsSaid) {
  const std::string pickle = pickled::kBegin + "}(" + pickled::Text("a") +
                             pickled::Tensor(pickled::Storage("HalfStorage", "0", 2), {2}) + "u.";
  const auto message = [&](std::vector<RawZip::Entry> entries) {
    return MessageOf(RawZip{.entries = std::move(entries)}.Build());
  };
  const RawZip::Entry table = {"x/data.pkl", pickle}, data = {"x/data/0", "1234"};
  EXPECT_EQ(message({table, data}), "it was read");
  EXPECT_EQ(message({table, data, {"x/byteorder", "little"}}), "it was read");
  EXPECT_THAT(message({table, data, {"x/byteorder", "big"}}), HasSubstr("not little-endian"));
  EXPECT_THAT(message({data}), HasSubstr("without data.pkl"));
  EXPECT_THAT(message({}), HasSubstr("without data.pkl"));
  const std::string wrong = "t: tensor a: its storage 0 is missing or of another size";
  EXPECT_EQ(message({table}), wrong);
  EXPECT_EQ(message({table, {"y/data/0", "1234"}}), wrong);
  for (const char* bytes : {"", "12", "123", "12345", "123456"}) {
    EXPECT_EQ(message({table, {"x/data/0", bytes}}), wrong) << bytes;
  }
}

TEST(TorchZip, EveryCutIsRefusedAndEveryFlippedBitSurvived) {
  for (const std::string& file : ReadFuzzCorpus("torch")) {
    if (file[0] == '\1') continue;  // a pickle alone
    ASSERT_EQ(MessageOf(file), "it was read");
    for (size_t size = 0; size < file.size(); ++size) {
      EXPECT_NE(MessageOf(file.substr(0, size)), "it was read") << size;
    }
    for (size_t bit = 0; bit < file.size() * 8; ++bit) {
      std::vector<std::byte> damaged = ToBytes(file);
      damaged[bit / 8] ^= std::byte(1 << bit % 8);
      const auto tensors = ParseTorchZip(damaged, "t");
      if (!tensors.ok()) continue;
      for (const auto& [name, tensor] : *tensors) {
        EXPECT_LE(tensor.data.data() + tensor.data.size(), damaged.data() + damaged.size());
        EXPECT_EQ(CheckedBytes(tensor.type, tensor.shape),
                  static_cast<int64_t>(tensor.data.size()));
      }
    }
  }
}

}  // namespace
}  // namespace hunch

// GgufWriter: what it writes, our reader reads back equal; its bytes are fixed; files appear whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <string>

#include "quant/quant.h"
#include "support/files.h"
#include "support/gguf_builder.h"
#include "weights/gguf.h"

namespace hunch {
namespace {

using Metadata = std::map<std::string, GgufValue, std::less<>>;

std::vector<std::byte> CountingBytes(size_t size) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7);
  return bytes;
}

// Values at the edges of what the narrow types hold.
const Metadata& EdgeValues() {
  static const Metadata values = {{"u.zero", uint64_t{0}},
                                  {"u.narrow", uint64_t{0xFFFFFFFF}},
                                  {"u.wide", uint64_t{0x100000000}},
                                  {"u.max", ~uint64_t{0}},
                                  {"i.narrow", int64_t{-0x80000000ll}},
                                  {"i.wide", int64_t{-0x80000001ll}},
                                  {"i.max", std::numeric_limits<int64_t>::max()},
                                  {"f.narrow", 0.5},
                                  {"f.negative_zero", -0.0},
                                  {"f.wide", 0.1},
                                  {"f.huge", 1e300},
                                  {"f.inf", std::numeric_limits<double>::infinity()},
                                  {"f.tiny", 5e-324},
                                  {"b", true},
                                  {"s", std::string("a\0b", 3)},
                                  {"s.empty", std::string()},
                                  {"us", std::vector<uint64_t>{1, 2}},
                                  {"us.wide", std::vector<uint64_t>{1, uint64_t{1} << 40}},
                                  {"is", std::vector<int64_t>{-1, 2}},
                                  {"is.wide", std::vector<int64_t>{-1, int64_t{1} << 40}},
                                  {"fs", std::vector<double>{0.5, -3}},
                                  {"fs.wide", std::vector<double>{0.5, 0.1}},
                                  {"bs", std::vector<bool>{true, false, true}},
                                  {"ss", std::vector<std::string>{"", "x", "yy"}},
                                  {"us.empty", std::vector<uint64_t>{}},
                                  {"ss.empty", std::vector<std::string>{}}};
  return values;
}

GgufWriter EdgeWriter() {
  GgufWriter writer;
  for (const auto& [key, value] : EdgeValues()) writer.Set(key, value);
  int i = 0;
  for (const TypeTraits& traits : KnownTypes()) {
    // One to four dims in turn.
    std::vector<int64_t> shape = {traits.block_elements * 3, 1, 2, 1};
    shape.resize(static_cast<size_t>(i % 4) + 1);
    int64_t elements = 1;
    for (int64_t dim : shape) elements *= dim;
    writer.AddTensor("t" + std::to_string(i++), traits.type, shape,
                     CountingBytes(BytesOf(traits.type, elements)));
  }
  return writer;
}

TEST(GgufWriter, EveryValueAndTensorTypeComesBack) {
  const std::vector<std::byte> bytes = EdgeWriter().Serialize();
  const auto file = GgufFile::Parse(bytes, "written");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ((*file.value()).metadata(), EdgeValues());
  EXPECT_TRUE(std::signbit((*file.value()).GetFloat("f.negative_zero").value()));
  const auto& tensors = (*file.value()).tensors();
  ASSERT_EQ(tensors.size(), KnownTypes().size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(tensors[i].name, "t" + std::to_string(i));
    EXPECT_EQ(tensors[i].type, KnownTypes()[i].type);
    EXPECT_EQ(tensors[i].shape.size(), i % 4 + 1);
    EXPECT_EQ(std::vector(tensors[i].data.begin(), tensors[i].data.end()),
              CountingBytes(BytesOf(tensors[i].type, tensors[i].elements())));
  }
}

TEST(GgufWriter, NanComesBack) {
  GgufWriter writer;
  writer.Set("nan", std::numeric_limits<double>::quiet_NaN());
  const std::vector<std::byte> bytes = writer.Serialize();
  const auto file = GgufFile::Parse(bytes, "written");
  EXPECT_TRUE(std::isnan(std::get<double>((*file.value()).metadata().at("nan"))));
}

// The whole file against the independent byte-level builder.
TEST(GgufWriter, WritesTheseBytes) {
  GgufWriter writer;
  writer.Set("n", uint64_t{7});
  writer.Set("big", uint64_t{1} << 40);
  writer.Set("x", 1.5);
  writer.Set("exact", 0.1);
  writer.Set("names", std::vector<std::string>{"a", "b"});
  writer.AddTensor("w", TensorType::kF32, {2, 3}, ToBytes(std::string(24, 'w')));
  const std::vector<std::byte> last = ToBytes("vv");
  writer.AddTensorView("v", TensorType::kF16, {1}, last);
  GgufBuilder builder;
  builder.Add("n", kWireU32, Raw(uint32_t{7}))
      .Add("big", kWireU64, Raw(uint64_t{1} << 40))
      .Add("x", kWireF32, Raw(1.5f))
      .Add("exact", kWireF64, Raw(0.1))
      .Add("names", kWireArray, RawStrings({"a", "b"}));
  builder.AddTensor("w", {2, 3}, 0, 24).AddTensor("v", {1}, 1, 2);
  builder.tensors[0].data = std::string(24, 'w');
  builder.tensors[1].data = "vv";
  EXPECT_EQ(writer.Serialize(), ToBytes(builder.Build() + std::string(30, '\0')));
}

TEST(GgufWriter, SetReplacesAndKeepsTheOrder) {
  GgufWriter once, twice;
  once.Set("a", uint64_t{2});
  once.Set("b", true);
  twice.Set("a", std::string("first"));
  twice.Set("b", true);
  twice.Set("a", uint64_t{2});
  EXPECT_EQ(once.Serialize(), twice.Serialize());
}

TEST(GgufWriter, HonoursAnAlignment) {
  GgufWriter writer = EdgeWriter();
  writer.Set("general.alignment", uint64_t{256});
  const std::vector<std::byte> bytes = writer.Serialize();
  const auto file = GgufFile::Parse(bytes, "written");
  ASSERT_TRUE(file.ok()) << file.error().message;
  for (const GgufTensor& tensor : (*file.value()).tensors()) {
    EXPECT_EQ((tensor.data.data() - bytes.data()) % 256, 0);
  }
}

size_t FilesIn(const std::string& path) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path), {}));
}

TEST(GgufWriter, WriteFileGivesTheSerializedBytesAndReplaces) {
  const TempDir dir;
  const std::string path = dir.Write("m.gguf", "an older file");
  const auto status = EdgeWriter().WriteFile(path);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(ToBytes(ReadFile(path)), EdgeWriter().Serialize());
  EXPECT_EQ(FilesIn(dir.path()), 1u);
  EXPECT_TRUE(GgufFile::Open(path).ok());
}

TEST(GgufWriter, AFailedWriteLeavesNothingBehind) {
  const TempDir dir;
  const auto no_folder = EdgeWriter().WriteFile(dir.path() + "/absent/m.gguf");
  ASSERT_FALSE(no_folder.ok());
  EXPECT_EQ(no_folder.error().code, ErrorCode::kIo);
  EXPECT_THAT(no_folder.error().message, testing::HasSubstr("absent/m.gguf"));
  // The rename fails: the target is a folder with something in it.
  std::filesystem::create_directories(dir.path() + "/taken.gguf/inside");
  EXPECT_FALSE(EdgeWriter().WriteFile(dir.path() + "/taken.gguf").ok());
  EXPECT_EQ(FilesIn(dir.path()), 1u);
}

TEST(GgufWriterDeathTest, WhatTheReaderWouldRefuseIsABug) {
  GgufWriter writer;
  writer.AddTensor("w", TensorType::kF32, {1}, CountingBytes(4));
  EXPECT_DEATH(writer.AddTensor("w", TensorType::kF32, {1}, CountingBytes(4)), "w twice");
  EXPECT_DEATH(writer.AddTensor("x", TensorType::kF32, {2}, CountingBytes(4)), "4 vs 8");
  EXPECT_DEATH(writer.AddTensor("x", TensorType::kF32, {}, {}), "x");
  EXPECT_DEATH(writer.AddTensor("x", TensorType::kF32, {0}, {}), "x");
  EXPECT_DEATH(writer.AddTensor("x", TensorType::kQ4_0, {16, 2}, CountingBytes(18)), "x");
  EXPECT_DEATH(writer.AddTensor("", TensorType::kF32, {1}, CountingBytes(4)), "name");
  EXPECT_DEATH(writer.Set("", true), "key");
  EXPECT_DEATH(writer.Set("general.alignment", uint64_t{24}), "alignment");
}

}  // namespace
}  // namespace hunch

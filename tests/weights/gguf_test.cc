// Reading well-formed files: every value type, look-ups and their errors, tensors, opening from
// disk.
#include "weights/gguf.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "support/files.h"
#include "support/gguf_builder.h"
#include "support/models.h"

namespace hunch {
namespace {

using testing::HasSubstr;

// A parsed file together with the bytes it points into.
struct Parsed {
  std::vector<std::byte> bytes;
  std::unique_ptr<GgufFile> file;
};

Parsed ParseOrDie(const GgufBuilder& builder) {
  Parsed parsed{ToBytes(builder.Build()), nullptr};
  parsed.file = GgufFile::Parse(parsed.bytes, "small.gguf").value();
  return parsed;
}

TEST(Gguf, ReadsEveryValueType) {
  const Parsed parsed = ParseOrDie(GgufBuilder::Small());
  using Strings = std::vector<std::string>;
  using Uints = std::vector<uint64_t>;
  using Ints = std::vector<int64_t>;
  using Floats = std::vector<double>;
  const std::map<std::string, GgufValue, std::less<>> expected = {
      {"general.architecture", std::string("test")},
      {"u8", uint64_t{200}},
      {"i8", int64_t{-100}},
      {"u16", uint64_t{60000}},
      {"i16", int64_t{-30000}},
      {"u32", uint64_t{4000000000}},
      {"i32", int64_t{-2000000000}},
      {"f32", 1.5},
      {"yes", true},
      {"no", false},
      {"text", std::string("two\nlines")},
      {"u64", ~uint64_t{0}},
      {"i64", int64_t{-5000000000}},
      {"f64", 0.1},
      {"u8s", Uints{1, 255}},
      {"i8s", Ints{-1, 127}},
      {"u16s", Uints{65535}},
      {"i16s", Ints{-2}},
      {"u32s", Uints{7, 8}},
      {"i32s", Ints{-7, 8}},
      {"f32s", Floats{0.25, -2}},
      {"bools", std::vector<bool>{true, false, true}},
      {"strings", Strings{"a", "", "ccc"}},
      {"u64s", Uints{uint64_t{1} << 63}},
      {"i64s", Ints{-9}},
      {"f64s", Floats{1e300}},
      {"empty", Strings{}}};
  EXPECT_EQ(parsed.file->metadata(), expected);
  EXPECT_EQ(parsed.file->file_bytes(), parsed.bytes.size());
  EXPECT_EQ(parsed.file->name(), "small.gguf");
}

TEST(Gguf, ReadsTensorsInFileOrderAndInPlace) {
  const GgufBuilder builder = GgufBuilder::Small();
  const Parsed parsed = ParseOrDie(builder);
  ASSERT_EQ(parsed.file->tensors().size(), 4u);
  const TensorType types[] = {TensorType::kF32, TensorType::kF16, TensorType::kQ8_0,
                              TensorType::kQ4_K};
  for (size_t i = 0; i < 4; ++i) {
    const GgufTensor& tensor = parsed.file->tensors()[i];
    const GgufBuilder::Tensor& written = builder.tensors[i];
    EXPECT_EQ(tensor.name, written.name);
    EXPECT_EQ(tensor.type, types[i]);
    EXPECT_EQ(std::vector<uint64_t>(tensor.shape.begin(), tensor.shape.end()), written.dims);
    EXPECT_EQ(std::vector(tensor.data.begin(), tensor.data.end()), ToBytes(written.data));
    EXPECT_GE(tensor.data.data(), parsed.bytes.data());
    EXPECT_EQ(parsed.file->FindTensor(tensor.name), &tensor);
  }
  EXPECT_EQ(parsed.file->FindTensor("three")->elements(), 128);
  EXPECT_EQ(parsed.file->FindTensor("three")->columns(), 32);
  EXPECT_EQ(parsed.file->FindTensor("three")->rows(), 4);
  EXPECT_EQ(parsed.file->FindTensor("five"), nullptr);
}

TEST(Gguf, ReadsVersionTwo) {
  GgufBuilder builder = GgufBuilder::Small();
  builder.version = 2;
  EXPECT_EQ(ParseOrDie(builder).file->tensors().size(), 4u);
}

TEST(Gguf, ReadsAFileOfKeysOnly) {
  GgufBuilder builder;
  builder.Add("a", kWireU32, Raw(uint32_t{1}));
  EXPECT_TRUE(ParseOrDie(builder).file->tensors().empty());
  EXPECT_TRUE(ParseOrDie(GgufBuilder{}).file->metadata().empty());
}

TEST(Gguf, HonoursTheAlignmentOfTheFile) {
  for (uint32_t alignment : {8u, 64u, 4096u, 65536u}) {
    GgufBuilder builder = GgufBuilder::Small();
    builder.Add("general.alignment", kWireU32, Raw(alignment));
    builder.alignment = alignment;
    const Parsed parsed = ParseOrDie(builder);
    for (const GgufTensor& tensor : parsed.file->tensors()) {
      EXPECT_EQ((tensor.data.data() - parsed.bytes.data()) % alignment, 0u);
      EXPECT_EQ(tensor.data[1], std::byte{1});
    }
  }
}

TEST(Gguf, DataMayLieInAnyOrderWithGaps) {
  GgufBuilder builder;
  builder.AddTensor("a", {8}, 0, 32).AddTensor("b", {8}, 0, 96);
  builder.tensors[0].offset = 64;
  builder.tensors[1].offset = 0;
  const Parsed parsed = ParseOrDie(builder);
  EXPECT_EQ(parsed.file->tensors()[0].name, "a");
  EXPECT_GT(parsed.file->tensors()[0].data.data(), parsed.file->tensors()[1].data.data());
}

TEST(Gguf, NamesUpToTheFormatsLimitsAreRead) {
  GgufBuilder builder;
  builder.Add(std::string(65535, 'k'), kWireBool, Raw(uint8_t{1}));
  builder.AddTensor(std::string(63, 'a'), {1}, 0, 4).AddTensor(std::string(64, 'b'), {1}, 0, 4);
  const Parsed parsed = ParseOrDie(builder);
  EXPECT_NE(parsed.file->FindTensor(std::string(64, 'b')), nullptr);
  EXPECT_TRUE(parsed.file->GetBoolOr(std::string(65535, 'k'), false).value());
}

template <typename T>
void ExpectError(const Result<T>& result, ErrorCode code, std::vector<std::string> parts) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, code) << result.error().message;
  for (const std::string& part : parts) EXPECT_THAT(result.error().message, HasSubstr(part));
}

TEST(GgufLookup, GivesValues) {
  const Parsed parsed = ParseOrDie(GgufBuilder::Small());
  const GgufFile& file = *parsed.file;
  EXPECT_EQ(file.GetInt("u8").value(), 200);
  EXPECT_EQ(file.GetInt("i64").value(), -5000000000);
  EXPECT_EQ(file.GetIntOr("i8", 1).value(), -100);
  EXPECT_EQ(file.GetIntOr("absent", 17).value(), 17);
  EXPECT_EQ(file.GetFloat("f32").value(), 1.5);
  EXPECT_EQ(file.GetFloatOr("f64", 1).value(), 0.1);
  EXPECT_EQ(file.GetFloatOr("absent", 2.5).value(), 2.5);
  EXPECT_EQ(file.GetBoolOr("yes", false).value(), true);
  EXPECT_EQ(file.GetBoolOr("no", true).value(), false);
  EXPECT_EQ(file.GetBoolOr("absent", true).value(), true);
  EXPECT_EQ(file.GetString("text").value(), "two\nlines");
  EXPECT_EQ(file.GetStringOr("text", "x").value(), "two\nlines");
  EXPECT_EQ(file.GetStringOr("absent", "x").value(), "x");
  EXPECT_EQ(*file.GetStrings("strings").value(), (std::vector<std::string>{"a", "", "ccc"}));
  EXPECT_EQ(file.GetInts("u32s").value(), (std::vector<int64_t>{7, 8}));
  EXPECT_EQ(file.GetInts("i32s").value(), (std::vector<int64_t>{-7, 8}));
}

TEST(GgufLookup, AMissingKeyIsAnErrorThatNamesIt) {
  const Parsed parsed = ParseOrDie(GgufBuilder::Small());
  const GgufFile& file = *parsed.file;
  const std::vector<std::string> parts = {"small.gguf", "\"absent\"", "missing"};
  ExpectError(file.GetInt("absent"), ErrorCode::kBadFile, parts);
  ExpectError(file.GetFloat("absent"), ErrorCode::kBadFile, parts);
  ExpectError(file.GetString("absent"), ErrorCode::kBadFile, parts);
  ExpectError(file.GetStrings("absent"), ErrorCode::kBadFile, parts);
  ExpectError(file.GetInts("absent"), ErrorCode::kBadFile, parts);
}

TEST(GgufLookup, AnotherTypeIsAnErrorEvenWithAFallback) {
  const Parsed parsed = ParseOrDie(GgufBuilder::Small());
  const GgufFile& file = *parsed.file;
  ExpectError(file.GetInt("f32"), ErrorCode::kBadFile, {"\"f32\" is a float, not an integer"});
  ExpectError(file.GetIntOr("text", 1), ErrorCode::kBadFile, {"is a string, not an integer"});
  ExpectError(file.GetIntOr("yes", 1), ErrorCode::kBadFile, {"is a bool, not an integer"});
  ExpectError(file.GetFloat("u8"), ErrorCode::kBadFile, {"is an unsigned integer, not a float"});
  ExpectError(file.GetFloatOr("i8", 1), ErrorCode::kBadFile, {"is an integer, not a float"});
  ExpectError(file.GetBoolOr("u8", true), ErrorCode::kBadFile, {"not a bool"});
  ExpectError(file.GetStringOr("strings", ""), ErrorCode::kBadFile,
              {"is an array of strings, not a string"});
  ExpectError(file.GetStrings("text"), ErrorCode::kBadFile, {"not an array of strings"});
  ExpectError(file.GetStrings("bools"), ErrorCode::kBadFile, {"is an array of bools"});
  ExpectError(file.GetInts("f32s"), ErrorCode::kBadFile, {"is an array of floats"});
  ExpectError(file.GetInts("u8"), ErrorCode::kBadFile, {"not an array of integers"});
}

TEST(GgufLookup, NumbersThatFitNowhereAreErrors) {
  GgufBuilder builder = GgufBuilder::Small();
  builder.Add("nan", kWireF32, Raw(std::numeric_limits<float>::quiet_NaN()));
  builder.Add("inf", kWireF64, Raw(std::numeric_limits<double>::infinity()));
  const Parsed parsed = ParseOrDie(builder);
  ExpectError(parsed.file->GetInt("u64"), ErrorCode::kBadFile, {"18446744073709551615"});
  ExpectError(parsed.file->GetInts("u64s"), ErrorCode::kBadFile, {"element 0", "\"u64s\""});
  ExpectError(parsed.file->GetFloat("nan"), ErrorCode::kBadFile, {"not a finite number"});
  ExpectError(parsed.file->GetFloatOr("inf", 1), ErrorCode::kBadFile, {"not a finite number"});
}

class GgufOpen : public testing::Test {
 protected:
  const TempDir dir_;
};

TEST_F(GgufOpen, MapsTheFileAndGivesPagesBack) {
  const GgufBuilder builder = GgufBuilder::Small();
  const std::string path = dir_.Write("m.gguf", builder.Build());
  auto opened = GgufFile::Open(path);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const GgufFile& file = **opened;
  EXPECT_EQ(file.name(), path);
  std::filesystem::remove(path);  // the mapping stays
  file.DropPages();
  for (size_t i = 0; i < file.tensors().size(); ++i) {
    EXPECT_EQ(std::vector(file.tensors()[i].data.begin(), file.tensors()[i].data.end()),
              ToBytes(builder.tensors[i].data));
  }
}

TEST_F(GgufOpen, WhatIsNoModelFileIsRefused) {
  ExpectError(GgufFile::Open(dir_.path() + "/absent.gguf"), ErrorCode::kNotFound,
              {"absent.gguf", "No such file"});
  ExpectError(GgufFile::Open(""), ErrorCode::kNotFound, {"No such file"});
  ExpectError(GgufFile::Open(dir_.path()), ErrorCode::kInvalidArgument, {"a directory"});
  ExpectError(GgufFile::Open(dir_.Write("empty.gguf", "")), ErrorCode::kBadFile, {"empty"});
  ExpectError(GgufFile::Open(dir_.Write("a", "x") + "/b.gguf"), ErrorCode::kNotFound, {"b.gguf"});
  ExpectError(GgufFile::Open("/dev/null"), ErrorCode::kInvalidArgument, {"not a regular file"});
  ExpectError(GgufFile::Open(dir_.path() + "/" + std::string(300, 'a')),
              ErrorCode::kInvalidArgument, {"File name too long"});
  std::filesystem::create_symlink("loop.gguf", dir_.path() + "/loop.gguf");
  ExpectError(GgufFile::Open(dir_.path() + "/loop.gguf"), ErrorCode::kInvalidArgument,
              {"Too many levels of symbolic links"});
  ExpectError(GgufFile::Open(dir_.Write("text.gguf", "hello, world")), ErrorCode::kBadFile,
              {"not a GGUF file", "\"hell\""});
  ExpectError(
      GgufFile::Open(dir_.Write("lfs.gguf", "version https://git-lfs.github.com/spec/v1\n")),
      ErrorCode::kBadFile, {"Git LFS pointer"});
}

TEST_F(GgufOpen, AFifoDoesNotHang) {
  const std::string path = dir_.path() + "/fifo.gguf";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  ExpectError(GgufFile::Open(path), ErrorCode::kInvalidArgument, {"not a regular file"});
}

TEST_F(GgufOpen, AnUnreadableFileIsAnError) {
  const std::string path = dir_.Write("secret.gguf", GgufBuilder::Small().Build());
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  const uid_t user = geteuid();
  if (user == 0 && seteuid(65534) != 0) GTEST_SKIP() << "root reads everything here";
  const auto opened = GgufFile::Open(path);
  if (user == 0) {
    ASSERT_EQ(seteuid(user), 0);
  }
  ExpectError(opened, ErrorCode::kInvalidArgument, {"secret.gguf", "Permission denied"});
}

TEST(GgufRealModel, SmolLm2IsReadWhole) {
  HUNCH_REQUIRE_MODEL(path, "smollm2");
  auto opened = GgufFile::Open(path);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const GgufFile& file = **opened;
  EXPECT_EQ(file.GetString("general.architecture").value(), "llama");
  EXPECT_EQ(file.GetStrings("tokenizer.ggml.tokens").value()->size(), 49152u);
  EXPECT_EQ(file.GetInts("tokenizer.ggml.token_type").value().size(), 49152u);
  EXPECT_EQ(file.GetFloat("llama.rope.freq_base").value(), 100000);
  EXPECT_EQ(file.tensors().size(), 272u);
  const GgufTensor* embeddings = file.FindTensor("token_embd.weight");
  ASSERT_NE(embeddings, nullptr);
  EXPECT_EQ(embeddings->type, TensorType::kQ8_0);
  EXPECT_EQ(embeddings->shape, (std::vector<int64_t>{576, 49152}));
  // The tensors fill the file to its end, but for padding.
  uint64_t bytes = 0;
  for (const GgufTensor& tensor : file.tensors()) bytes += tensor.data.size();
  EXPECT_LE(bytes, file.file_bytes());
  EXPECT_GT(bytes, file.file_bytes() - (2 << 20));
}

}  // namespace
}  // namespace hunch

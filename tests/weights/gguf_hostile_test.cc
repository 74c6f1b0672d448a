// Hostile files, one named case each: every one is refused with an error that says what is wrong.
// Regression cases of other engines' faults: ollama#17042 (unbounded allocation), llama.cpp#18674
// and #24263 (overflow and zero dims in tensor parsing), gguf-tools#25 (more than four dims).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "support/gguf_builder.h"
#include "weights/gguf.h"

namespace hunch {
namespace {

constexpr uint32_t kF32 = 0, kQ8_0 = 8;

struct HostileCase {
  std::string name;
  // The message says all of these.
  std::vector<std::string> says;
  // Damages a valid file.
  std::function<void(GgufBuilder*)> damage;
  ErrorCode code = ErrorCode::kBadFile;
};

// A damage that adds one key.
std::function<void(GgufBuilder*)> Key(uint32_t type, std::string value, std::string name = "bad") {
  return [=](GgufBuilder* file) { file->Add(name, type, value); };
}

// A damage that sets the fields of the tensor "one" (F32, 5 elements).
std::function<void(GgufBuilder*)> Dims(std::vector<uint64_t> dims, uint32_t type = kF32) {
  return [=](GgufBuilder* file) {
    file->tensors[0].dims = dims;
    file->tensors[0].type = type;
  };
}

std::function<void(GgufBuilder*)> NumberOfDims(uint32_t n_dims) {
  return [=](GgufBuilder* file) { file->tensors[0].n_dims = n_dims; };
}

std::function<void(GgufBuilder*)> Name(std::string name) {
  return [=](GgufBuilder* file) { file->tensors[0].name = name; };
}

std::function<void(GgufBuilder*)> Offset(size_t tensor, uint64_t offset) {
  return [=](GgufBuilder* file) { file->tensors[tensor].offset = offset; };
}

std::function<void(GgufBuilder*)> Alignment(uint32_t type, std::string value) {
  return Key(type, std::move(value), "general.alignment");
}

const std::vector<HostileCase>& PreambleCases() {
  static const std::vector<HostileCase> cases = {
      {"WrongMagic", {"not a GGUF file", "\"ggml\""}, [](auto* f) { f->magic = "ggml"; }},
      {"TerminalEscapeAsMagic", {"\\x1b[2J"}, [](auto* f) { f->magic = "\x1b[2J"; }},
      {"Version0", {"version 0"}, [](auto* f) { f->version = 0; }, ErrorCode::kUnsupported},
      {"Version1",
       {"version 1", "2 and 3"},
       [](auto* f) { f->version = 1; },
       ErrorCode::kUnsupported},
      {"Version4", {"version 4"}, [](auto* f) { f->version = 4; }, ErrorCode::kUnsupported},
      {"BigEndian",
       {"big-endian"},
       [](auto* f) { f->version = 0x03000000; },
       ErrorCode::kUnsupported},
      {"KeyCount2To32", {"4294967296 keys"}, [](auto* f) { f->key_count = uint64_t{1} << 32; }},
      {"KeyCountMax", {"18446744073709551615 keys"}, [](auto* f) { f->key_count = ~uint64_t{0}; }},
      {"KeyCountOneTooMany", {"small.gguf"}, [](auto* f) { f->key_count = f->keys.size() + 1; }},
      {"TensorCount2To63",
       {"9223372036854775808 tensors"},
       [](auto* f) { f->tensor_count = uint64_t{1} << 63; }},
      {"TensorCountOneTooMany",
       {"tensor"},
       [](auto* f) { f->tensor_count = f->tensors.size() + 1; }},
      {"ManyEmptyKeys",
       {"at most 65536"},
       [](auto* f) {
         f->key_count = 65537;
         f->Add("pad", kWireString, RawString(std::string(1 << 20, 'x')));
       },
       ErrorCode::kUnsupported},
  };
  return cases;
}

const std::vector<HostileCase>& MetadataCases() {
  static const std::vector<HostileCase> cases = {
      {"KeyLength2To48",
       {"the name of key 1 of 27", "cut short"},
       [](auto* f) { f->keys[0].name_length = uint64_t{1} << 48; }},
      {"EmptyKey", {"empty name"}, Key(kWireU8, Raw(uint8_t{1}), "")},
      {"KeyWithNul", {"a\\x00b", "NUL"}, Key(kWireU8, Raw(uint8_t{1}), std::string("a\0b", 3))},
      {"KeyOf65536Bytes",
       {"at most 65535"},
       Key(kWireU8, Raw(uint8_t{1}), std::string(65536, 'k'))},
      {"KeyTwice", {"key \"u32\" appears twice"}, Key(kWireU32, Raw(uint32_t{1}), "u32")},
      {"StringLengthMax",
       {"the text of key \"bad\""},
       Key(kWireString, RawString("x", ~uint64_t{0}))},
      {"StringLengthPastTheEnd",
       {"the text of key \"bad\""},
       Key(kWireString, RawString("x", 1 << 20))},
      {"UnknownValueType99", {"\"bad\"", "type 99"}, Key(99, Raw(uint64_t{1}))},
      {"UnknownValueType13", {"type 13"}, Key(13, Raw(uint64_t{1}))},
      {"Bool7", {"\"bad\"", "0 or 1, not 7"}, Key(kWireBool, Raw(uint8_t{7}))},
      {"BoolInArray", {"0 or 1, not 2"}, Key(kWireArray, RawArray(kWireBool, 2, "\1\2"))},
      {"ArrayOf2To40Strings",
       {"1099511627776 array elements"},
       Key(kWireArray, RawArray(kWireString, uint64_t{1} << 40, ""))},
      {"ArrayOf2To61Doubles",
       {"2305843009213693952 array elements"},
       Key(kWireArray, RawArray(kWireF64, uint64_t{1} << 61, ""))},
      {"ArrayOfMaxBytes",
       {"18446744073709551615 array elements"},
       Key(kWireArray, RawArray(kWireU8, ~uint64_t{0}, ""))},
      {"ArrayOfArrays",
       {"\"bad\"", "an array of arrays"},
       Key(kWireArray, RawArray(kWireArray, 1, RawArray(kWireU8, 0, ""))),
       ErrorCode::kUnsupported},
      {"ArrayNested10000Deep",
       {"an array of arrays"},
       [](auto* f) {
         std::string nested;
         for (int i = 0; i < 10000; ++i) nested += RawArray(kWireArray, 1, "");
         f->Add("deep", kWireArray, nested);
       },
       ErrorCode::kUnsupported},
      {"ArrayOfUnknownType",
       {"element type 13"},
       Key(kWireArray, RawArray(13, 1, Raw(uint64_t{0})))},
      {"StringInArrayTooLong",
       {"string 2 of 2 of key \"bad\""},
       Key(kWireArray, RawArray(kWireString, 2, RawString("ok") + RawString("x", 1 << 30)))},
      {"TooManyArrayElements",
       {"9000000 array elements", "more than 8388608"},
       Key(kWireArray, RawArray(kWireU8, 9000000, std::string(9000000, '\1'))),
       ErrorCode::kUnsupported},
  };
  return cases;
}

const std::vector<HostileCase>& TensorCases() {
  static const std::vector<HostileCase> cases = {
      {"ElementCountWraps", {"\"one\"", "2^63"}, Dims({uint64_t{1} << 32, uint64_t{1} << 32})},
      {"ElementCountWrapsToSmall", {"2^63"}, Dims({5, 1, uint64_t{1} << 62, 4})},
      {"ByteSizeWraps", {"\"one\"", "2^64 bytes"}, Dims({uint64_t{1} << 62})},
      {"Dim2To63", {"dimension 0 is 9223372036854775808"}, Dims({uint64_t{1} << 63})},
      {"DimMinusOne", {"dimension 0 is 18446744073709551615"}, Dims({~uint64_t{0}})},
      {"DimZero", {"dimension 0 is 0"}, Dims({0})},
      {"DimZeroInTheMiddle", {"dimension 1 is 0"}, Dims({4, 0, 4})},
      {"DimZeroAfterHugeOnes",
       {"dimension 2 is 0"},
       Dims({uint64_t{1} << 31, uint64_t{1} << 31, 0})},
      {"NoDims", {"0 dimensions"}, NumberOfDims(0)},
      {"FiveDims", {"5 dimensions", "1 to 4"}, NumberOfDims(5)},
      {"NineDims", {"9 dimensions"}, NumberOfDims(9)},
      {"MaxDims", {"4294967295 dimensions"}, NumberOfDims(0xFFFFFFFF)},
      {"Type999",
       {"\"one\"", "type number 999", "Q4_K (12)", "IQ4_NL (20)"},
       Dims({5}, 999),
       ErrorCode::kUnsupported},
      {"TypeRemoved", {"type number 4"}, Dims({5}, 4), ErrorCode::kUnsupported},
      {"Q8RowOf33", {"\"one\"", "33 elements", "blocks of 32"}, Dims({33}, kQ8_0)},
      {"BlockSplitOverRows", {"rows of 16 elements", "Q8_0"}, Dims({16, 2}, kQ8_0)},
      {"EmptyName", {"tensor 1 of 4 has an empty name"}, Name("")},
      {"NameOf65Bytes", {"at most 64", "has 65"}, Name(std::string(65, 'n'))},
      {"NameOf70000Bytes", {"at most 64", "has 70000"}, Name(std::string(70000, 'n'))},
      {"NameWithNul", {"on\\x00", "NUL"}, Name(std::string("on\0", 3))},
      {"NameTwice", {"tensor \"two\" appears twice"}, Name("two")},
      {"NameLengthMax",
       {"the name of tensor 1 of 4"},
       [](auto* f) { f->tensors[0].name_length = ~uint64_t{0}; }},
      {"OffsetUnaligned", {"\"two\"", "offset 33", "alignment, 32"}, Offset(1, 33)},
      {"OffsetPastTheEnd", {"\"two\"", "offset 1048576", "past the end"}, Offset(1, 1 << 20)},
      {"OffsetMax", {"past the end"}, Offset(1, ~uint64_t{31})},
      {"OffsetPlusSizeWraps", {"past the end"}, Offset(3, ~uint64_t{0} - 287)},
      {"LastByteMissing",
       {"\"four\"", "past the end", "cut short"},
       [](auto* f) { f->tensors[3].data.pop_back(); }},
      {"SameOffset", {"\"two\"", "overlaps", "\"one\""}, Offset(1, 0)},
      {"Overlap", {"\"four\"", "overlaps", "\"three\""}, Offset(3, 96)},
      {"Alignment0", {"general.alignment is 0"}, Alignment(kWireU32, Raw(uint32_t{0}))},
      {"Alignment4", {"general.alignment is 4"}, Alignment(kWireU32, Raw(uint32_t{4}))},
      {"Alignment24",
       {"general.alignment is 24", "power of two"},
       Alignment(kWireU32, Raw(uint32_t{24}))},
      {"Alignment2To17", {"131072"}, Alignment(kWireU32, Raw(uint32_t{1} << 17))},
      {"Alignment2To31", {"2147483648"}, Alignment(kWireU32, Raw(uint32_t{1} << 31))},
      {"Alignment2To63", {"9223372036854775808"}, Alignment(kWireU64, Raw(uint64_t{1} << 63))},
      {"AlignmentNegative", {"not an unsigned integer"}, Alignment(kWireI32, Raw(int32_t{-32}))},
      {"AlignmentAsString", {"not an unsigned integer"}, Alignment(kWireString, RawString("32"))},
  };
  return cases;
}

class GgufHostile : public testing::TestWithParam<HostileCase> {};

TEST_P(GgufHostile, IsRefusedWithAReason) {
  GgufBuilder file = GgufBuilder::Small();
  GetParam().damage(&file);
  const std::vector<std::byte> bytes = ToBytes(file.Build());
  const auto result = GgufFile::Parse(bytes, "small.gguf");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, GetParam().code) << result.error().message;
  EXPECT_THAT(result.error().message, testing::StartsWith("small.gguf: "));
  for (const std::string& part : GetParam().says) {
    EXPECT_THAT(result.error().message, testing::HasSubstr(part));
  }
  // One line of printable ASCII of bounded length, whatever the file says.
  EXPECT_LT(result.error().message.size(), 700u);
  for (char c : result.error().message) EXPECT_TRUE(c >= ' ' && c <= '~');
}

std::string CaseName(const testing::TestParamInfo<HostileCase>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Preamble, GgufHostile, testing::ValuesIn(PreambleCases()), CaseName);
INSTANTIATE_TEST_SUITE_P(Metadata, GgufHostile, testing::ValuesIn(MetadataCases()), CaseName);
INSTANTIATE_TEST_SUITE_P(Tensors, GgufHostile, testing::ValuesIn(TensorCases()), CaseName);

// The 32-byte file of ollama#17042: one key whose name is said to have 2^48 bytes.
TEST(GgufHostileFile, ThirtyTwoBytes) {
  const std::string file =
      "GGUF" + Raw(uint32_t{3}) + Raw(uint64_t{0}) + Raw(uint64_t{1}) + Raw(uint64_t{1} << 48);
  ASSERT_EQ(file.size(), 32u);
  const auto bytes = ToBytes(file);
  EXPECT_FALSE(GgufFile::Parse(bytes, "f").ok());
}

// The cases above fail for their own reason only.
TEST(GgufHostileFile, TheUndamagedFileIsRead) {
  const auto bytes = ToBytes(GgufBuilder::Small().Build());
  EXPECT_TRUE(GgufFile::Parse(bytes, "f").ok());
}

TEST(GgufHostileFile, TruncationAtEveryByteIsAnError) {
  const std::string file = GgufBuilder::Small().Build();
  const size_t data_start = GgufBuilder::Small().BuildHeader().size();
  for (size_t size = 0; size < file.size(); ++size) {
    // A copy of just that size, so that a sanitizer sees the first byte too many.
    const std::vector<std::byte> bytes = ToBytes(file.substr(0, size));
    const auto result = GgufFile::Parse(bytes, "f");
    ASSERT_FALSE(result.ok()) << size;
    ASSERT_EQ(result.error().code, ErrorCode::kBadFile) << size << ": " << result.error().message;
    if (size >= data_start) {
      ASSERT_THAT(result.error().message, testing::HasSubstr("past the end of the file")) << size;
    }
  }
}

TEST(GgufHostileFile, EveryByteOfTheHeaderMayBeWrong) {
  const std::string file = GgufBuilder::Small().Build();
  const size_t header = GgufBuilder::Small().BuildHeader().size();
  int refused = 0, read = 0;
  for (size_t i = 0; i < header; ++i) {
    for (int value :
         {0x00, 0x01, 0x07, 0x20, 0x7F, 0x80, 0xFE, 0xFF, file[i] ^ 1, file[i] ^ 0x40}) {
      std::string damaged = file;
      damaged[i] = static_cast<char>(value);
      const std::vector<std::byte> bytes = ToBytes(damaged);
      const auto result = GgufFile::Parse(bytes, "f");
      ++(result.ok() ? read : refused);
      if (!result.ok()) continue;
      // What is read is whole: every tensor lies inside the file.
      for (const GgufTensor& tensor : (*result.value()).tensors()) {
        ASSERT_GE(tensor.data.data(), bytes.data());
        ASSERT_LE(tensor.data.data() + tensor.data.size(), bytes.data() + bytes.size());
        ASSERT_GE(tensor.elements(), 1);
      }
    }
  }
  // Changing a value or a name is no damage; changing a count, a length or a type is.
  EXPECT_GT(refused, 1000);
  EXPECT_GT(read, 1000);
}

}  // namespace
}  // namespace hunch

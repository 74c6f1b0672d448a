// The fuzz targets of heads, safetensors and torch's zip archives over good files and thousands of
// mutations of them, without libFuzzer: the same each time.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "support/files.h"
#include "support/mutate.h"
#include "support/published.h"

// Under names of their own: several targets can be replayed by one program.
#define LLVMFuzzerTestOneInput FuzzHead
#include "fuzz/head_fuzz.cc"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput FuzzSafetensors
#include "fuzz/safetensors_fuzz.cc"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput FuzzTorch
#include "fuzz/torch_fuzz.cc"
#undef LLVMFuzzerTestOneInput

namespace hunch {
namespace {

using Target = int (*)(const uint8_t*, size_t);

// Numbers that tend to matter, and what the formats are made of.
std::vector<std::string> Pieces() {
  std::vector<std::string> pieces = {
      "{",        "}", "[", "]", "\"", "-1", "1e99", "\"F32\"", "PK\1\2", "PK\3\4", "PK\5\6",
      "\x80\x02", "(", "t", "R", "Q",  "u",  ")",    "\x85",    "\x87",   "."};
  for (const uint64_t number : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 31, uint64_t{0xFFFFFFFF},
                                uint64_t{1} << 62, ~uint64_t{0}}) {
    pieces.push_back(Raw(number));
    pieces.push_back(Raw(static_cast<uint32_t>(number)));
  }
  return pieces;
}

void Replay(Target target, const std::vector<std::string>& seeds, int rounds) {
  const auto run = [&](const std::string& input) {
    // A copy of just that size, so that a sanitizer sees the first byte too many.
    const std::vector<uint8_t> bytes(input.begin(), input.end());
    EXPECT_EQ(target(bytes.data(), bytes.size()), 0);
  };
  const std::vector<std::string> pieces = Pieces();
  std::mt19937 random(12345);
  run("");
  for (const std::string& seed : seeds) run(seed);
  for (int round = 0; round < rounds; ++round) {
    run(Mutate(seeds[random() % seeds.size()], pieces, 4, random));
  }
}

RawTensors Small() {
  return {{"a", FloatTensor({2, 2}, {1, 2, 3, -4})}, {"d2t", {"I64", {1}, Raw(int64_t{-7})}}};
}

TEST(PublishedFuzz, Heads) {
  const std::vector<std::string> seeds = ReadFuzzCorpus("head");
  for (const std::string& seed : seeds) {
    const std::vector<std::byte> bytes = ToBytes(seed);
    const auto file = GgufFile::Parse(bytes, "seed");
    EXPECT_TRUE(file.ok() && ReadHeadConfig(**file).ok()) << "or nothing behind it is tried";
  }
  Replay(FuzzHead, seeds, 20000);
}

TEST(PublishedFuzz, Safetensors) {
  std::vector<std::string> seeds = ReadFuzzCorpus("safetensors");
  seeds.push_back(SafetensorsOf(Small()));
  Replay(FuzzSafetensors, seeds, 20000);
}

TEST(PublishedFuzz, TorchZips) {
  RawZip wide = {.entries = {{"a/data.pkl", "\x80\x02}."}}, .wide = true};
  std::vector<std::string> seeds = ReadFuzzCorpus("torch");
  seeds.insert(seeds.end(), {TorchFileOf(Small()), wide.Build()});
  Replay(FuzzTorch, seeds, 40000);
}

}  // namespace
}  // namespace hunch

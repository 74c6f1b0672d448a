// The fuzz target over its corpus and a few thousand mutations of it, without libFuzzer: the same
// each time.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "support/files.h"
#include "support/gguf_builder.h"

// Under a name of its own: several targets can be replayed by one program.
#define LLVMFuzzerTestOneInput FuzzGguf
#include "fuzz/gguf_fuzz.cc"
#undef LLVMFuzzerTestOneInput

namespace hunch {
namespace {

void RunTarget(const std::string& input) {
  // A copy of just that size, so that a sanitizer sees the first byte too many.
  const std::vector<uint8_t> bytes(input.begin(), input.end());
  EXPECT_EQ(FuzzGguf(bytes.data(), bytes.size()), 0);
}

// One to four small damages: a byte, a 4- or 8-byte number that tends to matter, a cut, a copied or
// removed stretch.
std::string Mutate(std::string input, std::mt19937* random) {
  static constexpr uint64_t kNumbers[] = {0,          1,          4,          32,
                                          255,        0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
                                          1ull << 32, 1ull << 61, 1ull << 63, ~0ull};
  auto pick = [random](size_t below) { return static_cast<size_t>((*random)() % below); };
  for (size_t damages = 1 + pick(4); damages > 0 && !input.empty(); --damages) {
    const size_t at = pick(input.size());
    const size_t length = std::min(input.size() - at, 1 + pick(16));
    switch (pick(6)) {
      case 0:
        input[at] = static_cast<char>((*random)());
        break;
      case 1:
        input.replace(at, std::min<size_t>(8, input.size() - at), Raw(kNumbers[pick(12)]));
        break;
      case 2:
        input.replace(at, std::min<size_t>(4, input.size() - at),
                      Raw(static_cast<uint32_t>(kNumbers[pick(12)])));
        break;
      case 3:
        input.resize(at);
        break;
      case 4:
        input.insert(pick(input.size()), input.substr(at, length));
        break;
      case 5:
        input.erase(at, length);
        break;
    }
  }
  return input;
}

TEST(GgufFuzz, ReplaysTheCorpus) {
  const std::vector<std::string> corpus = ReadFuzzCorpus("gguf");
  ASSERT_GE(corpus.size(), 5u);
  for (const std::string& input : corpus) RunTarget(input);
}

TEST(GgufFuzz, MutationsOfTheCorpus) {
  std::vector<std::string> corpus = ReadFuzzCorpus("gguf");
  corpus.push_back(GgufBuilder::Small().Build());
  std::mt19937 random(12345);
  for (int round = 0; round < 20000; ++round) {
    RunTarget(Mutate(corpus[random() % corpus.size()], &random));
  }
}

}  // namespace
}  // namespace hunch

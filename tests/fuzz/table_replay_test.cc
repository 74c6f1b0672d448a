// The fuzz target over files that were written and a few thousand mutations of them, without
// libFuzzer: the same each time.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "draft/ngram_cache_builder.h"
#include "support/files.h"

// Under a name of its own: several targets can be replayed by one program.
#define LLVMFuzzerTestOneInput FuzzTable
#include "fuzz/table_fuzz.cc"
#undef LLVMFuzzerTestOneInput

namespace hunch {
namespace {

constexpr size_t kFrame = 48;

void RunTarget(const std::string& input) {
  // A copy of just that size, so that a sanitizer sees the first byte too many.
  const std::vector<uint8_t> bytes(input.begin(), input.end());
  EXPECT_EQ(FuzzTable(bytes.data(), bytes.size()), 0);
}

// Whole files and what is in their frames, of both kinds, behind the byte that says so.
std::vector<std::string> Written() {
  const TempDir folder;
  std::mt19937 random(4);
  std::vector<std::vector<TokenId>> streams(4);
  SuffixStore store;
  for (auto& stream : streams) {
    for (int i = 0; i < 30; ++i) stream.push_back(static_cast<TokenId>(random() % 6));
    store.Add(stream);
  }
  EXPECT_TRUE(store.Save(folder.Path("store"), kVocabulary).ok());
  EXPECT_TRUE(BuildNgramCache(streams, folder.Path("table"), kVocabulary).ok());
  std::vector<std::string> inputs;
  for (const auto& [name, kind] : {std::pair{"table", '\0'}, std::pair{"store", '\1'}}) {
    const std::string file = ReadFile(folder.Path(name));
    inputs.push_back(kind + file);
    inputs.push_back(static_cast<char>(kind + 2) + file.substr(kFrame));
  }
  return inputs;
}

// One to four small damages behind the first byte: a byte, a number that tends to matter, a cut, a
// copied or removed stretch.
std::string Mutate(std::string input, std::mt19937* random) {
  static constexpr uint64_t kNumbers[] = {0,          1,          4,          255,  256,
                                          0x7FFFFFFF, 0xFFFFFFFF, 1ull << 61, ~0ull};
  auto pick = [random](size_t below) { return static_cast<size_t>((*random)() % below); };
  for (size_t damages = 1 + pick(4); damages > 0 && input.size() > 1; --damages) {
    const size_t at = 1 + pick(input.size() - 1);
    const size_t length = std::min(input.size() - at, 1 + pick(16));
    const uint64_t number = kNumbers[pick(std::size(kNumbers))];
    const std::string raw(reinterpret_cast<const char*>(&number), pick(2) == 0 ? 8 : 4);
    switch (pick(5)) {
      case 0:
        input[at] = static_cast<char>((*random)());
        break;
      case 1:
        // Mostly where numbers begin.
        input.replace(std::min(input.size(), pick(3) == 0 ? at : 1 + (at - 1) / 4 * 4),
                      std::min(raw.size(), input.size() - at), raw);
        break;
      case 2:
        input.resize(at);
        break;
      case 3:
        input.insert(1 + pick(input.size() - 1), input.substr(at, length));
        break;
      case 4:
        input.erase(at, length);
        break;
    }
  }
  return input;
}

TEST(TableFuzz, ReplaysWhatIsWritten) {
  for (const std::string& input : Written()) RunTarget(input);
  RunTarget("");
  RunTarget("\1");
}

TEST(TableFuzz, MutationsOfWhatIsWritten) {
  const std::vector<std::string> inputs = Written();
  std::mt19937 random(12345);
  for (int round = 0; round < 20000; ++round) {
    RunTarget(Mutate(inputs[random() % inputs.size()], &random));
  }
}

}  // namespace
}  // namespace hunch

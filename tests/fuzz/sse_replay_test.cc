// The SSE fuzz target over what models say and mutations of it, without libFuzzer: the same each
// time.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "support/files.h"
#include "support/mutate.h"

// Under a name of its own: several targets can be replayed by one program.
#define LLVMFuzzerTestOneInput FuzzSse
#include "fuzz/sse_fuzz.cc"
#undef LLVMFuzzerTestOneInput

namespace hunch {
namespace {

const std::vector<std::string> kPieces = {
    "\n",   "\r\n",     "\n\n", "data: ",       "id: ", ":", "\r",          "\0",
    "\xff", "\xf0\x9f", "\"",   "\\",           "-",    "0", "<tool_call>", "{",
    "}",    ".",        " ",    "\xe2\x80\xa8", "```",  "1", "[DONE]"};

TEST(SseFuzz, SurvivesMutations) {
  std::mt19937 random(1);
  for (const std::string& seed : ReadFuzzCorpus("sse")) {
    for (int i = 0; i < 300; ++i) {
      std::string text = i == 0 ? seed : Mutate(seed, kPieces, 4, random);
      // Every switch, cut in every way.
      if (i > 0 && text.size() >= 2)
        text[0] = static_cast<char>(i), text[1] = static_cast<char>(i / 16);
      // A copy of just that size, so that a sanitizer sees the first byte too many.
      const std::vector<uint8_t> bytes(text.begin(), text.end());
      EXPECT_EQ(FuzzSse(bytes.data(), bytes.size()), 0);
    }
  }
}

}  // namespace
}  // namespace hunch

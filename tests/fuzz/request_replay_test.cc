// The request fuzz target over good requests and mutations of them, without libFuzzer: the same
// each time.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "support/files.h"
#include "support/mutate.h"

// Under a name of its own: several targets can be replayed by one program.
#define LLVMFuzzerTestOneInput FuzzRequest
#include "fuzz/request_fuzz.cc"
#undef LLVMFuzzerTestOneInput

namespace hunch {
namespace {

const std::vector<std::string> kPieces = {"{",
                                          "}",
                                          "[",
                                          "]",
                                          "\"",
                                          ",",
                                          ":",
                                          "null",
                                          "true",
                                          "-1",
                                          "1e999",
                                          "0.5",
                                          "99999999999999999999",
                                          "\\u0000",
                                          "\\ud800",
                                          "\xff",
                                          "\"n\"",
                                          "\"stop\"",
                                          "\"role\"",
                                          "\"content\"",
                                          "\"messages\"",
                                          "\"logit_bias\"",
                                          "\"speculation\"",
                                          "\"function\"",
                                          "\"tool_calls\"",
                                          "\"required\"",
                                          "{}",
                                          "[]",
                                          "[[[[",
                                          "1.5"};

TEST(RequestFuzz, SurvivesMutations) {
  std::mt19937 random(1);
  const auto run = [](const std::string& input) {
    // A copy of just that size, so that a sanitizer sees the first byte too many.
    const std::vector<uint8_t> bytes(input.begin(), input.end());
    EXPECT_EQ(FuzzRequest(bytes.data(), bytes.size()), 0);
  };
  for (const std::string& seed : ReadFuzzCorpus("request")) {
    run(seed);
    for (int i = 0; i < 3000; ++i) run(Mutate(seed, kPieces, 3, random));
    // Values of another type in every place.
    for (size_t at = seed.find(": "); at != std::string::npos; at = seed.find(": ", at + 1)) {
      const size_t end = std::min(seed.find_first_of(",}", at), seed.size());
      for (const std::string& piece : kPieces) {
        run(seed.substr(0, at + 2) + piece + seed.substr(end));
      }
    }
  }
}

}  // namespace
}  // namespace hunch

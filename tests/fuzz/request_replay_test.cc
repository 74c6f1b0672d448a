// The request fuzz target over good requests and mutations of them, without libFuzzer: the same
// each time.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "support/mutate.h"

// Under a name of its own: several targets can be replayed by one program.
#define LLVMFuzzerTestOneInput FuzzRequest
#include "fuzz/request_fuzz.cc"
#undef LLVMFuzzerTestOneInput

namespace hunch {
namespace {

const std::vector<std::string> kSeeds = {
    R"({"model": "m", "messages": [{"role": "system", "content": "a"}, {"role": "user", "content":
        [{"type": "text", "text": "b"}]}], "temperature": 0.5, "top_p": 0.9, "top_k": 40, "n": 2,
        "logprobs": true, "top_logprobs": 5, "stream": true, "stream_options":
        {"include_usage": true}, "stop": ["a", "b"], "seed": 7, "logit_bias": {"5": -1.5},
        "max_tokens": 3, "speculation": {"enabled": true, "method": "ngram+suffix",
        "num_speculative_tokens": 4}, "response_format": {"type": "text"}, "tools": []})",
    R"({"prompt": ["a", [1, 2, 3]], "echo": false, "logprobs": 3, "best_of": 1, "suffix": null,
        "max_tokens": 5, "presence_penalty": -1, "frequency_penalty": 2, "min_p": 0.1})",
    R"({"tokens": [1, 2, 3], "model": ""})",
    R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": null,
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments":
        "{}"}}]}, {"role": "tool", "tool_call_id": "1", "content": "b"}], "tools": [{"type":
        "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"},
        "strict": false}}, {"type": "function", "function": {"name": "g"}}], "tool_choice": {"type":
        "function", "function": {"name": "f"}}, "parallel_tool_calls": false})",
};

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
  for (const std::string& seed : kSeeds) {
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

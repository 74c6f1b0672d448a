// The tools fuzz target over what models write and mutations of it, without libFuzzer: the same
// each time.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "support/mutate.h"

// Under a name of its own: several targets can be replayed by one program.
#define LLVMFuzzerTestOneInput FuzzTools
#include "fuzz/tools_fuzz.cc"
#undef LLVMFuzzerTestOneInput

namespace hunch {
namespace {

const std::vector<std::string> kSeeds = {
    "Let me see.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"city\": \"Paris\", \"n\": [1, "
    "2.5]}}\n"
    "</tool_call>\n<tool_call>{\"arguments\": {}, \"name\": \"g\"}</tool_call> Done.",
    R"({"name": "f", "arguments": "{\"a\": \"\\u00e9\"}"} {"name": "g"})",
    R"(<tool_call>{"name": "f", "arguments": {"a": 'b'}}</tool_call><tool_call>{"x": 1)",
    "```json\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n```\n```\n{\"name\": \"g\"}\n```",
};

const std::vector<std::string> kPieces = {
    "<tool_call>", "```", "```json\n", "</tool_call>",     "<tool", "<", "{", "}", "\"",
    "\\",          "\n",  " ",         "{\"name\": \"f\"", ",",     ":", "[", "]", "null",
    "-1",          "1e9", "\xff",      "\"arguments\": {", "-",     ".", "0"};

TEST(ToolsFuzz, SurvivesMutations) {
  std::mt19937 random(1);
  for (const std::string& seed : kSeeds) {
    std::string text = seed;
    for (int i = 0; i < 5000; ++i) {
      // A copy of just that size, so that a sanitizer sees the first byte too many.
      const std::vector<uint8_t> bytes(text.begin(), text.end());
      EXPECT_EQ(FuzzTools(bytes.data(), bytes.size()), 0);
      // Damage piles up for a while.
      text = Mutate(i % 10 == 0 ? seed : text, kPieces, 4, random);
    }
  }
}

}  // namespace
}  // namespace hunch

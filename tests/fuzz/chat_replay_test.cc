// The chat fuzz target over the golden cases and mutations of them, without libFuzzer: the same
// each time.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "support/files.h"

// Under a name of its own: several targets can be replayed by one program.
#define LLVMFuzzerTestOneInput FuzzChat
#include "fuzz/chat_fuzz.cc"
#undef LLVMFuzzerTestOneInput

namespace hunch {
namespace {

void RunTarget(const std::string& input) {
  // A copy of just that size, so that a sanitizer sees the first byte too many.
  const std::vector<uint8_t> bytes(input.begin(), input.end());
  EXPECT_EQ(FuzzChat(bytes.data(), bytes.size()), 0);
}

// Templates with the variables that the golden cases use, every string of them marked as the
// request's.
std::vector<std::string> ReadSeeds() {
  std::vector<std::string> templates;
  std::string variables;
  for (const auto& row : ReadGoldenLines<nlohmann::ordered_json>("chat/cases.jsonl")) {
    if (row.contains("variables")) {
      variables = row["variables"].dump();
      for (size_t at = variables.find("\":\""); at != std::string::npos;
           at = variables.find("\":\"", at + 3)) {
        variables.insert(at + 3, "\\u0001");
      }
    } else {
      templates.push_back(row["template"].get<std::string>());
    }
  }
  for (auto& source : templates) source += '\0' + variables;
  for (const std::string model : {"smollm2", "qwen2.5-coder"}) {
    templates.push_back(ReadFile(GoldenPath("oracle/template_" + model + ".jinja")));
  }
  return templates;
}

// One to three damages to the template: a byte, a piece of the language, a cut, a copied or removed
// stretch, or a stretch of another template.
std::string Mutate(std::string input, const std::string& other, std::mt19937* random) {
  static const std::vector<std::string> kPieces = {"{%",
                                                   "%}",
                                                   "{{",
                                                   "}}",
                                                   "{#",
                                                   "#}",
                                                   "-",
                                                   "+",
                                                   "(",
                                                   ")",
                                                   "[",
                                                   "]",
                                                   "{",
                                                   "}",
                                                   ",",
                                                   ":",
                                                   "|",
                                                   ".",
                                                   "~",
                                                   "'",
                                                   "\"",
                                                   "not ",
                                                   " in ",
                                                   " is ",
                                                   " if ",
                                                   " else ",
                                                   "**",
                                                   "//",
                                                   "0",
                                                   "-1",
                                                   "1.5",
                                                   "none",
                                                   "loop.",
                                                   "namespace(",
                                                   "messages",
                                                   "[0]",
                                                   "[::-1]",
                                                   ".content",
                                                   "|list",
                                                   "|join",
                                                   "|tojson",
                                                   "|string",
                                                   "|sort",
                                                   "|unique",
                                                   ".split()",
                                                   "{% set x %}",
                                                   "{% endset %}",
                                                   "{% endfor %}",
                                                   "{% endif %}",
                                                   "{% break %}",
                                                   "\n"};
  const auto pick = [random](size_t below) { return static_cast<size_t>((*random)() % below); };
  for (size_t damages = 1 + pick(3); damages > 0 && !input.empty(); --damages) {
    const size_t end = std::min(input.find('\0'), input.size() - 1) + 1;
    const size_t at = pick(end);
    const size_t length = std::min(end - at, 1 + pick(12));
    switch (pick(6)) {
      case 0:
        input[at] = static_cast<char>((*random)());
        break;
      case 1:
        input.insert(at, kPieces[pick(kPieces.size())]);
        break;
      case 2:
        input.erase(at, length);
        break;
      case 3:
        input.insert(pick(end), input.substr(at, length));
        break;
      case 4:
        input.replace(at, length, kPieces[pick(kPieces.size())]);
        break;
      case 5:
        input.insert(at, other.substr(pick(other.size()), 1 + pick(30)));
        break;
    }
  }
  return input;
}

TEST(ChatFuzz, ReplaysTheGoldenCases) {
  const auto seeds = ReadSeeds();
  ASSERT_GE(seeds.size(), 150u);
  for (const std::string& seed : seeds) RunTarget(seed);
}

TEST(ChatFuzz, MutationsOfTheGoldenCases) {
  const auto seeds = ReadSeeds();
  std::mt19937 random(2024);
  for (int round = 0; round < 20'000; ++round) {
    RunTarget(Mutate(seeds[random() % seeds.size()], seeds[random() % seeds.size()], &random));
  }
}

}  // namespace
}  // namespace hunch

// The grammar fuzz target over grammars and texts near to them, without libFuzzer: the same each
// time.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "support/files.h"
#include "support/mutate.h"

// Under a name of its own: several targets can be replayed by one program.
#define LLVMFuzzerTestOneInput FuzzGrammar
#include "fuzz/grammar_fuzz.cc"
#undef LLVMFuzzerTestOneInput

namespace hunch {
namespace {

const std::vector<std::string> kPieces = {
    "{", "}", "[",  "]",    "(",  ")",    "|",        "*",        "+",       "?",         "^",
    "$", ".", "\\", "\"",   "'",  ":",    ",",        "0",        "9",       "-",         "a",
    "x", "<", "=",  ">",    "/",  "&",    " ",        "{2,5}",    "\\u00e9", "[^\"]",     "::=",
    "#", "1", "{}", "\xff", "[]", "null", "\"type\"", "\"$ref\"", "root",    "\"string\""};

TEST(GrammarFuzz, SurvivesMutations) {
  std::mt19937 random(1);
  const auto run = [](const std::string& input) {
    SCOPED_TRACE(input);
    // A copy of just that size, so that a sanitizer sees the first byte too many.
    const std::vector<uint8_t> bytes(input.begin(), input.end());
    EXPECT_EQ(FuzzGrammar(bytes.data(), bytes.size()), 0);
  };
  for (const std::string& seed : ReadFuzzCorpus("grammar")) {
    run(seed);
    for (int i = 0; i < 200; ++i) run(seed[0] + Mutate(seed.substr(1), kPieces, 4, random));
  }
}

}  // namespace
}  // namespace hunch

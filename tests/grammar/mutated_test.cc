// Texts near to grammars: whatever is wrong with one, it is refused or taken, and nothing crashes.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "grammar/grammars.h"
#include "support/fake_llm.h"

namespace hunch {
namespace {

using Kind = StructuredOutput::Kind;

struct Seed {
  Kind kind;
  std::string text;
};

const std::vector<Seed>& Seeds() {
  static const std::vector<Seed> seeds = {
      {Kind::kJsonSchema,
       R"({"type": "object", "properties": {"a": {"type": ["string", "null"], "pattern": "^a+$",
           "minLength": 2, "maxLength": 9}, "b": {"type": "array", "items": {"$ref": "#/$defs/c"},
           "minItems": 1, "uniqueItems": true, "prefixItems": [{"const": 3}]}}, "required": ["b"],
           "additionalProperties": {"type": "number", "exclusiveMinimum": -1.5, "maximum": 7e3},
           "$defs": {"c": {"anyOf": [{"enum": [1, "x", null]}, {"format": "date-time"}, {}]}}})"},
      {Kind::kJsonSchema,
       R"({"patternProperties": {"^x[0-9]{1,3}$": {"type": "integer", "minimum": 5}},
           "minProperties": 1, "maxProperties": 4, "propertyNames": {"maxLength": 8}})"},
      {Kind::kRegex, R"(^([a-z]{2,5}|\d+(\.\d*)?|[^\x00-\x1f"]*?)(?:\s)+\u00e9x{2}$)"},
      {Kind::kRegex, R"((a|b)*c{3,}[\w.-]+@[A-Z]{0,64}\\[\]\[^-])"},
      {Kind::kGrammar,
       "root ::= (expr \"=\" term \"\\n\")+ # sums\nexpr ::= term ([-+*/] term)*\n"
       "term ::= ident | num | \"(\" ws expr \")\" ws\nident ::= [a-z] [a-z0-9_]* ws\n"
       "num ::= [0-9]+ ws {2,3}\nws ::= [ \\t\\n]*\n"},
      {Kind::kGrammar, R"(root ::= "\u00e9\x41" | [^a-z\]\-] root? | ("" | "b"){1,4} (= "c"))"},
      {Kind::kStructuralTag,
       R"({"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<a"],
           "tags": [{"type": "tag", "begin": "<a>", "content": {"type": "json_schema",
           "json_schema": {"type": "object"}}, "end": "</a>"}, {"type": "tag", "begin": "<ab>",
           "content": {"type": "regex", "pattern": "x+"}, "end": ["</ab>"]}],
           "at_least_one": true, "stop_after_first": false}})"},
  };
  return seeds;
}

std::string Mutated(std::string text, std::mt19937& random) {
  static constexpr char kPieces[] = R"({}[]()|*+?^$.\"':,0123456789-ax<>=/& )";
  const auto below = [&](size_t n) { return static_cast<size_t>(random()) % n; };
  for (size_t edits = 1 + below(4); edits > 0; --edits) {
    const size_t at = below(text.size() + 1);
    const size_t length = std::min(below(12), text.size() - at);
    switch (below(4)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, 1, kPieces[below(sizeof(kPieces) - 1)]);
        break;
      case 2:
        text.insert(below(text.size() + 1), text.substr(at, length));
        break;
      default:
        if (at < text.size()) text[at] = kPieces[below(sizeof(kPieces) - 1)];
    }
  }
  return text;
}

class MutatedGrammar : public testing::TestWithParam<size_t> {};

TEST_P(MutatedGrammar, IsRefusedOrTaken) {
  const Seed& seed = Seeds()[GetParam()];
  const ByteTokenizer tokenizer;
  Grammars grammars(VocabularyOf(tokenizer));
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  int taken = 0, refused = 0;
  for (int round = 0; round < 250; ++round) {
    const std::string text = round == 0 ? seed.text : Mutated(seed.text, random);
    SCOPED_TRACE(text);
    const auto grammar = grammars.Compile({seed.kind, text});
    ++(grammar.ok() ? taken : refused);
    if (!grammar.ok()) continue;
    const auto constraint = (*grammar)->Start();
    std::vector<uint32_t> mask(MaskWords(tokenizer.vocab_size()));
    for (int step = 0; step < 40; ++step) {
      const auto allowed = constraint->Fill(mask);
      if (allowed == TokenConstraint::Allowed::kNothing) break;
      const auto first = static_cast<TokenId>(random() % tokenizer.vocab_size());
      for (TokenId i = 0; i < tokenizer.vocab_size(); ++i) {
        const TokenId token = (first + i) % tokenizer.vocab_size();
        const bool bit = allowed == TokenConstraint::Allowed::kAll ||
                         (mask[static_cast<size_t>(token) / 32] >> token % 32 & 1) != 0;
        ASSERT_EQ(constraint->Advance(token), bit) << token;
        if (bit) break;
      }
      if (step % 7 == 6) constraint->Undo(static_cast<int>(random() % 4));
    }
  }
  EXPECT_GT(refused, 0);
  RecordProperty("taken", taken);
}

INSTANTIATE_TEST_SUITE_P(Seeds, MutatedGrammar, testing::Range(size_t{0}, Seeds().size()));

}  // namespace
}  // namespace hunch

// Grammars over a vocabulary of bytes and a few longer tokens: what they allow, what they refuse,
// and that a hostile one costs a bounded time.
#include "grammar/grammars.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>

#include "grammar/limits.h"

namespace hunch {
namespace {

using Kind = StructuredOutput::Kind;
using ::testing::HasSubstr;

// Bytes, words, a control token without text, and the end.
class Words {
 public:
  static constexpr TokenId kControl = 256, kEnd = 257, kFirstWord = 258;

  Words() {
    for (int byte = 0; byte < 256; ++byte) tokens_.emplace_back(1, static_cast<char>(byte));
    tokens_.emplace_back("");
    tokens_.emplace_back("<end>");
    for (const char* word : {"true", "name", "na", "\"name\"", "{\"", "\": ", "one", "two"}) {
      tokens_.emplace_back(word);
    }
  }
  int size() const { return static_cast<int>(tokens_.size()); }
  std::string_view operator[](TokenId token) const { return tokens_[static_cast<size_t>(token)]; }
  GrammarVocabulary Vocabulary() const {
    return {.size = size(),
            .bytes = [this](TokenId token) { return (*this)[token]; },
            .end_tokens = {kEnd}};
  }

 private:
  std::vector<std::string> tokens_;
};

class GrammarsTest : public testing::Test {
 protected:
  std::unique_ptr<TokenConstraint> Start(Kind kind, const std::string& text) {
    const auto grammar = grammars_.Compile({kind, text});
    EXPECT_TRUE(grammar.ok()) << text << ": " << grammar.error().message;
    return grammar.ok() ? (*grammar)->Start() : nullptr;
  }
  // Whether the whole text, byte by byte, then the end, is allowed.
  bool Allows(Kind kind, const std::string& text, const std::string& answer) {
    const auto constraint = Start(kind, text);
    if (constraint == nullptr) return false;
    for (const char c : answer) {
      if (!constraint->Advance(static_cast<unsigned char>(c))) return false;
    }
    return constraint->Advance(Words::kEnd);
  }
  std::string Refusal(Kind kind, const std::string& text) {
    const auto grammar = grammars_.Compile({kind, text});
    if (grammar.ok()) return "";
    EXPECT_EQ(grammar.error().code, ErrorCode::kInvalidArgument);
    return grammar.error().message;
  }
  // The tokens that Fill allows; Advance must agree on every one.
  std::vector<TokenId> Allowed(TokenConstraint& constraint) {
    std::vector<uint32_t> mask(MaskWords(words_.size()));
    const auto some = constraint.Fill(mask);
    std::vector<TokenId> allowed;
    for (TokenId token = 0; token < words_.size(); ++token) {
      const bool bit = some == TokenConstraint::Allowed::kAll ||
                       (some == TokenConstraint::Allowed::kSome &&
                        (mask[static_cast<size_t>(token) / 32] >> token % 32 & 1) != 0);
      const bool taken = constraint.Advance(token);
      EXPECT_EQ(bit, taken) << token;
      if (taken) constraint.Undo(1);
      if (bit) allowed.push_back(token);
    }
    return allowed;
  }

  Words words_;
  Grammars grammars_{words_.Vocabulary()};
};

TEST_F(GrammarsTest, AChoiceIsOneOfItsTextsToTheByte) {
  const std::string choices = R"(["one", "o\"\\\n", "Grün", "2"])";
  EXPECT_TRUE(Allows(Kind::kChoice, choices, "one"));
  EXPECT_TRUE(Allows(Kind::kChoice, choices, "o\"\\\n"));
  EXPECT_TRUE(Allows(Kind::kChoice, choices, "Grün"));
  EXPECT_FALSE(Allows(Kind::kChoice, choices, "on"));
  EXPECT_FALSE(Allows(Kind::kChoice, choices, "two"));
  const auto constraint = Start(Kind::kChoice, choices);
  EXPECT_EQ(Allowed(*constraint), (std::vector<TokenId>{'2', 'G', 'o', Words::kFirstWord + 6}));
  ASSERT_TRUE(constraint->Advance('2'));
  EXPECT_TRUE(constraint->Complete());
  EXPECT_EQ(Allowed(*constraint), std::vector<TokenId>{Words::kEnd});
  ASSERT_TRUE(constraint->Advance(Words::kEnd));
  EXPECT_TRUE(constraint->Complete());
  EXPECT_EQ(Allowed(*constraint), std::vector<TokenId>{});
  constraint->Undo(2);
  EXPECT_EQ(Allowed(*constraint).size(), 4u);
}

TEST_F(GrammarsTest, ASchemaIsKeptTo) {
  const std::string schema = R"({"type": "object", "properties": {"name": {"type": "string"},
    "age": {"type": "integer"}}, "required": ["name", "age"]})";
  EXPECT_TRUE(Allows(Kind::kJsonSchema, schema, R"({"name": "x", "age": 3})"));
  EXPECT_TRUE(Allows(Kind::kJsonSchema, schema, "{\n  \"name\": \"\\u00fc\",\n  \"age\": -3\n}"));
  EXPECT_FALSE(Allows(Kind::kJsonSchema, schema, R"({"name": "x"})"));
  EXPECT_FALSE(Allows(Kind::kJsonSchema, schema, R"({"name": 4, "age": 3})"));
  EXPECT_FALSE(Allows(Kind::kJsonSchema, schema, R"({"name": "x", "age": 3, "more": 1})"));
  EXPECT_FALSE(Allows(Kind::kJsonSchema, schema, R"([])"));
}

TEST_F(GrammarsTest, JsonObjectsOfAnyKind) {
  EXPECT_TRUE(Allows(Kind::kJsonObject, "", R"({"a": [1, {"b": null}, "c"], "d": {}})"));
  EXPECT_TRUE(Allows(Kind::kJsonObject, "", "{}"));
  EXPECT_FALSE(Allows(Kind::kJsonObject, "", "[1]"));
  EXPECT_FALSE(Allows(Kind::kJsonObject, "", R"({"a": 1)"));
  EXPECT_FALSE(Allows(Kind::kJsonObject, "", "{" + std::string(100, ' ') + "}"))
      << "white space has a bound";
}

TEST_F(GrammarsTest, ExpressionsAndGrammars) {
  EXPECT_TRUE(Allows(Kind::kRegex, "[0-9]{3}-(a|b)+", "123-abab"));
  EXPECT_FALSE(Allows(Kind::kRegex, "[0-9]{3}-(a|b)+", "12-ab"));
  EXPECT_FALSE(Allows(Kind::kRegex, "[0-9]{3}-(a|b)+", "x123-ab"));
  const std::string sums = "root ::= number (\" + \" number)*\nnumber ::= [0-9]+";
  EXPECT_TRUE(Allows(Kind::kGrammar, sums, "1 + 22 + 3"));
  EXPECT_FALSE(Allows(Kind::kGrammar, sums, "1 + "));
  // Brackets that match, which no regular expression can ask for.
  const std::string brackets = R"x(root ::= "(" root ")" | "")x";
  EXPECT_TRUE(Allows(Kind::kGrammar, brackets, "((()))"));
  EXPECT_FALSE(Allows(Kind::kGrammar, brackets, "((())"));
}

TEST_F(GrammarsTest, ControlTokensAreNoText) {
  const auto constraint = Start(Kind::kRegex, "(.|\\n)*");
  std::vector<uint32_t> mask(MaskWords(words_.size()));
  ASSERT_EQ(constraint->Fill(mask), TokenConstraint::Allowed::kSome);
  EXPECT_FALSE(constraint->Advance(Words::kControl));
  EXPECT_FALSE(constraint->Advance(-1));
  EXPECT_FALSE(constraint->Advance(words_.size()));
  EXPECT_TRUE(constraint->Advance(Words::kFirstWord));
  EXPECT_TRUE(constraint->Advance(Words::kEnd));
}

TEST_F(GrammarsTest, WhatIsForcedIsSpelledInLongTokens) {
  const auto constraint = Start(Kind::kGrammar, R"(root ::= "{\"name\": " ("true" | "false") "}")");
  std::vector<TokenId> forced;
  constraint->Forced(forced);
  ASSERT_FALSE(forced.empty());
  std::string text;
  for (const TokenId token : forced) {
    text += words_[token];
    EXPECT_TRUE(constraint->Advance(token));
  }
  EXPECT_TRUE(std::string(R"({"name": )").starts_with(text)) << text;
  EXPECT_LT(forced.size(), text.size());
  constraint->Undo(static_cast<int>(forced.size()));
  for (const char c : std::string(R"({"name": )")) ASSERT_TRUE(constraint->Advance(c));
  constraint->Forced(forced);
  EXPECT_TRUE(forced.empty()) << "there is a choice";
}

TEST_F(GrammarsTest, SaysWhatIsWrong) {
  EXPECT_THAT(Refusal(Kind::kJsonSchema, "{"), HasSubstr("the JSON schema is no JSON"));
  EXPECT_THAT(Refusal(Kind::kJsonSchema, "[]"), HasSubstr("must be an object"));
  EXPECT_THAT(Refusal(Kind::kJsonSchema, R"({"type": "nonsense"})"), HasSubstr("the JSON schema"));
  EXPECT_THAT(Refusal(Kind::kJsonSchema, R"({"$ref": "#/nowhere"})"), HasSubstr("the JSON schema"));
  EXPECT_THAT(Refusal(Kind::kRegex, "(a"), HasSubstr("the regular expression cannot be used"));
  EXPECT_THAT(Refusal(Kind::kRegex, "a\xff"), HasSubstr("not UTF-8"));
  EXPECT_THAT(Refusal(Kind::kGrammar, "root ::= a"), HasSubstr("the grammar cannot be used"));
  EXPECT_THAT(Refusal(Kind::kGrammar, "a ::= \"b\""), HasSubstr("root"));
  EXPECT_THAT(Refusal(Kind::kChoice, "[]"), HasSubstr("at least one string"));
  EXPECT_THAT(Refusal(Kind::kChoice, "[1]"), HasSubstr("at least one string"));
  EXPECT_THAT(Refusal(Kind::kStructuralTag, R"({"format": 1})"), HasSubstr("the structural tag"));
  EXPECT_THAT(Refusal(Kind::kRegex, ""), HasSubstr("is empty"));
}

// An answer that only looks as if it kept to a schema is worse than an error.
TEST_F(GrammarsTest, RefusesWhatAnswersWouldNotBeHeldTo) {
  const auto schema = [&](std::string_view inner) {
    return Refusal(Kind::kJsonSchema,
                   R"({"type": "object", "properties": {"a": )" + std::string(inner) + "}}");
  };
  for (const char* word : {"not", "if", "dependentSchemas", "contains"}) {
    EXPECT_THAT(schema(fmt::format(R"({{"{}": {{"type": "null"}}}})", word)),
                HasSubstr(fmt::format("has \"{}\", which answers cannot be held to", word)));
  }
  EXPECT_THAT(schema(R"({"type": "array", "uniqueItems": true})"), HasSubstr("uniqueItems"));
  EXPECT_THAT(schema(R"({"anyOf": [{"type": "null"}, {"items": {"not": {}}}]})"), HasSubstr("not"));
  EXPECT_THAT(schema(R"({"type": "number", "multipleOf": 0.5})"), HasSubstr("multipleOf"));
  EXPECT_THAT(schema(R"({"type": "string", "pattern": "^(?=a)b$"})"), HasSubstr("ssertion"));
  EXPECT_THAT(schema(R"({"anyOf": [{"type": "object"}], "required": ["b"]})"),
              HasSubstr("has \"required\" beside \"anyOf\", which"));
  EXPECT_THAT(schema(R"({"allOf": [{"type": "object"}, {"minProperties": 1}]})"),
              HasSubstr("allOf"));
  EXPECT_THAT(Refusal(Kind::kRegex, "(?!a)b"), HasSubstr("ookahead"));
  const std::string tag = R"({"type": "structural_tag", "format": {"type": "tag", "begin": "<",
    "content": {"type": "json_schema", "json_schema": {"properties": {"a": {"not": {}}}}},
    "end": ">"}})";
  EXPECT_THAT(Refusal(Kind::kStructuralTag, tag), HasSubstr("has \"not\""));
  const std::string pydantic = R"({"$defs": {"A": {"type": "object", "properties": {}}}, "type":
    "object", "properties": {"a": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}], "default":
    null, "title": "A"}, "b": {"allOf": [{"$ref": "#/$defs/A"}], "description": "b"}}})";
  EXPECT_TRUE(grammars_.Compile({Kind::kJsonSchema, pydantic}).ok());
  const std::string names = R"({"type": "object", "properties": {"not": {"type": "null"}, "if":
    {"enum": [{"contains": 1}]}, "b": {"type": "array", "uniqueItems": false}}})";
  EXPECT_TRUE(grammars_.Compile({Kind::kJsonSchema, names}).ok());
}

TEST_F(GrammarsTest, WhatIsKeptIsTheSameGrammar) {
  const StructuredOutput wanted = {Kind::kRegex, "a+"};
  const auto first = grammars_.Compile(wanted).value();
  EXPECT_EQ(grammars_.Compile(wanted).value(), first);
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(grammars_.Compile({Kind::kRegex, "a{" + std::to_string(i + 1) + "}"}).ok());
  }
  EXPECT_NE(grammars_.Compile(wanted).value(), first) << "the number of those kept has a bound";
}

TEST_F(GrammarsTest, ThreadsCompileAndMatchSideBySide) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this, i] {
      for (int round = 0; round < 20; ++round) {
        const std::string text(static_cast<size_t>(1 + (i + round) % 7), 'x');
        EXPECT_TRUE(Allows(Kind::kRegex, "x{" + std::to_string(text.size()) + "}", text));
        EXPECT_TRUE(Allows(Kind::kJsonObject, "", R"({"a": [1, 2]})"));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Each of these is refused, or taken and then costs a bounded time per token: nothing crashes or
// hangs.
struct Hostile {
  const char* name;
  Kind kind;
  std::string text;
  std::string answer = "";  // fed byte by byte while it is allowed
};

std::string Repeat(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

std::vector<Hostile> HostileGrammars() {
  std::string enumeration = R"({"enum": [)", chain = "root ::= r0\n", choices = "[", object;
  for (int i = 0; i < 6000; ++i) enumeration += (i ? ",\"" : "\"") + std::to_string(i * 7919) + '"';
  for (int i = 0; i < 2500; ++i) {
    chain += "r" + std::to_string(i) + " ::= r" + std::to_string(i + 1) + "\n";
  }
  for (int i = 0; i < 5000; ++i) choices += (i ? ",\"" : "\"") + std::to_string(i * 104729) + '"';
  object = R"({"type": "object", "properties": {)";
  for (int i = 0; i < 900; ++i) {
    object += std::string(i ? "," : "") + "\"p" + std::to_string(i) + R"(": {"type": "string"})";
  }
  const std::string deep_schema = Repeat(R"({"type": "array", "items": )", 3000);
  return {
      {"deep_schema", Kind::kJsonSchema, deep_schema + "{}" + Repeat("}", 3000)},
      {"deep_json", Kind::kJsonSchema, Repeat("[", 60000)},
      {"deep_expression", Kind::kRegex, Repeat("(", 20000) + "a" + Repeat(")", 20000)},
      {"deep_grammar", Kind::kGrammar,
       "root ::= " + Repeat("(", 20000) + "\"a\"" + Repeat(")", 20000)},
      {"long_text", Kind::kRegex, Repeat("a", 1 << 20)},
      {"large_enum", Kind::kJsonSchema, enumeration + "]}"},
      {"large_choice", Kind::kChoice, choices + "]"},
      {"many_properties", Kind::kJsonSchema, object + "}}"},
      {"repetition_of_repetitions", Kind::kRegex, "((((a{1,99}){1,99}){1,99}){1,99}){1,99}",
       Repeat("a", 300)},
      {"huge_repetition", Kind::kRegex, "a{1,2000000000}", Repeat("a", 300)},
      {"huge_repetition_of_words", Kind::kRegex, "(ab|cd){100000000}", Repeat("abcd", 80)},
      {"huge_string", Kind::kJsonSchema, R"({"type": "string", "minLength": 2000000000})", "\"abc"},
      {"huge_array", Kind::kJsonSchema,
       R"({"type": "array", "items": {"type": "integer"}, "minItems": 1000000000})", "[1,2,3"},
      {"exponential_expression", Kind::kRegex, "(a|a)*(a|aa)*(a*)*b", Repeat("a", 300)},
      {"nested_stars", Kind::kRegex, Repeat("(", 30) + "a*" + Repeat(")*", 30), Repeat("a", 300)},
      {"ambiguous_grammar", Kind::kGrammar, "root ::= root root | root root root | \"a\"",
       Repeat("a", 400)},
      {"rule_chain", Kind::kGrammar, chain + "r2500 ::= \"a\"", "a"},
      {"endless_rule", Kind::kGrammar, "root ::= root"},
      {"endless_rules", Kind::kGrammar, "root ::= a\na ::= b\nb ::= a"},
      {"no_end", Kind::kGrammar, "root ::= \"a\" root", Repeat("a", 300)},
      {"recursive_schema", Kind::kJsonSchema,
       R"({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}},
           "$ref": "#/$defs/a"})"},
      {"bomb_schema", Kind::kJsonSchema,
       R"({"$defs": {"a": {"type": "object", "properties": {"x": {"$ref": "#/$defs/b"},
           "y": {"$ref": "#/$defs/b"}}}, "b": {"type": "object", "properties": {
           "x": {"$ref": "#/$defs/a"}, "y": {"$ref": "#/$defs/a"}}}}, "$ref": "#/$defs/a"})",
       R"({"x":{"x":{"x":{"x":{)"},
      {"wild_pattern", Kind::kJsonSchema,
       R"({"type": "string", "pattern": "^(([a-z])+.)+[A-Z]([a-z])+$"})", "\"" + Repeat("a", 300)},
      {"unsatisfiable", Kind::kJsonSchema, R"({"type": "integer", "minimum": 10, "maximum": 1})"},
  };
}

class HostileGrammar : public testing::TestWithParam<Hostile> {};

TEST_P(HostileGrammar, CostsABoundedTime) {
  const Words words;
  Grammars grammars(words.Vocabulary());
  const Hostile& hostile = GetParam();
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const auto grammar = grammars.Compile({hostile.kind, hostile.text});
  const double compiled = seconds();
  size_t fed = 0;
  if (grammar.ok()) {
    const auto constraint = (*grammar)->Start();
    std::vector<uint32_t> mask(MaskWords(words.size()));
    for (const char c : hostile.answer) {
      if (!constraint->Advance(static_cast<unsigned char>(c))) break;
      constraint->Fill(mask);
      ++fed;
    }
  } else {
    EXPECT_LT(grammar.error().message.size(), 500u);
  }
  // For whoever tunes the limits.
  RecordProperty("said", grammar.ok() ? "taken" : grammar.error().message);
  RecordProperty("compile_ms", static_cast<int>(compiled * 1e3));
  RecordProperty("feed_ms", static_cast<int>((seconds() - compiled) * 1e3));
  RecordProperty("fed", static_cast<int>(fed));
  EXPECT_LT(compiled, 20) << "a sanitizer costs ten times as much";
  EXPECT_LT(seconds() - compiled, 20);
}

INSTANTIATE_TEST_SUITE_P(All, HostileGrammar, testing::ValuesIn(HostileGrammars()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace hunch

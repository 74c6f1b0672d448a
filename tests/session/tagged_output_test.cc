#include "session/tagged_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_llm.h"

namespace hunch {
namespace {

using ::testing::HasSubstr;

const std::vector<TaggedSchema> kTools = {
    {"<tool_call>\n{\"name\": \"add\", \"arguments\": ",
     R"({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})",
     "}\n</tool_call>"},
    {"<tool_call>\n{\"name\": \"stop\", \"arguments\": ", R"({"type": "object", "properties": {}})",
     "}\n</tool_call>"}};
const std::string kTrigger = "<tool_call>";
const std::string kAdd =
    "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>";
const std::string kStop = "<tool_call>\n{\"name\": \"stop\", \"arguments\": {}}\n</tool_call>";

class TaggedOutputTest : public testing::Test {
 protected:
  bool Allows(TagUse use, const std::string& answer, const StructuredOutput& otherwise = {}) {
    const auto wanted = TaggedOutput(kTools, kTrigger, use, otherwise);
    EXPECT_TRUE(wanted.ok());
    const auto grammar = grammars_.Compile(*wanted);
    EXPECT_TRUE(grammar.ok()) << grammar.error().message;
    return grammar.ok() && Obeys(**grammar, tokenizer_.Encode(answer, false));
  }

  ByteTokenizer tokenizer_;
  Grammars grammars_{VocabularyOf(tokenizer_)};
};

TEST_F(TaggedOutputTest, TextIsFreeAndATagIsWhole) {
  EXPECT_TRUE(Allows(TagUse::kFree, "no tool is needed"));
  EXPECT_TRUE(Allows(TagUse::kFree, "let me see " + kAdd + " and " + kStop));
  EXPECT_FALSE(Allows(TagUse::kFree, "<tool_call>\n{\"name\": \"sub\""));
  EXPECT_FALSE(
      Allows(TagUse::kFree, "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": \"x\""));
  EXPECT_FALSE(Allows(TagUse::kFree, kAdd.substr(0, kAdd.size() - 3)));
}

TEST_F(TaggedOutputTest, OneTagAndNothingElse) {
  EXPECT_TRUE(Allows(TagUse::kOne, kStop));
  EXPECT_FALSE(Allows(TagUse::kOne, "so " + kStop));
  EXPECT_FALSE(Allows(TagUse::kOne, ""));
  EXPECT_FALSE(Allows(TagUse::kOne, kStop + kAdd));
}

TEST_F(TaggedOutputTest, AtLeastOneTag) {
  EXPECT_TRUE(Allows(TagUse::kOneOrMore, kStop + "\n" + kAdd));
  EXPECT_FALSE(Allows(TagUse::kOneOrMore, "so " + kStop));
}

TEST_F(TaggedOutputTest, TagsOrElseATextOfAnyForm) {
  using Kind = StructuredOutput::Kind;
  const std::vector<std::pair<StructuredOutput, std::string>> forms = {
      {{Kind::kJsonObject, ""}, R"({"x": [1]})"},
      {{Kind::kJsonSchema, R"({"type": "array", "items": {"type": "null"}})"}, "[null]"},
      {{Kind::kRegex, "[0-9]{3}"}, "123"},
      {{Kind::kChoice, R"(["yes", "no \"\\"])"}, "no \"\\"},
      {{Kind::kGrammar, "root ::= [a-z] more\nmore ::= \"1\"+"}, "x11"},
      {{Kind::kStructuralTag, R"({"type": "structural_tag", "format": {"type": "const_string",
                                  "value": "ok"}})"},
       "ok"}};
  for (const auto& [form, text] : forms) {
    EXPECT_TRUE(Allows(TagUse::kInstead, text, form)) << text;
    EXPECT_TRUE(Allows(TagUse::kInstead, kStop + "\n" + kAdd, form)) << text;
    EXPECT_FALSE(Allows(TagUse::kInstead, text + "?", form)) << text;
    EXPECT_FALSE(Allows(TagUse::kInstead, "so " + kStop, form)) << text;
    EXPECT_FALSE(Allows(TagUse::kInstead, "", form)) << text;
  }
  const auto formless =
      TaggedOutput(kTools, kTrigger, TagUse::kInstead, {Kind::kStructuralTag, "[]"});
  EXPECT_THAT(formless.error().message, HasSubstr("no format"));
}

TEST_F(TaggedOutputTest, WhiteSpaceInATagEnds) {
  const std::string begin = kAdd.substr(0, kAdd.find("1"));
  EXPECT_TRUE(Allows(TagUse::kOne, begin + std::string(40, ' ') + kAdd.substr(begin.size())));
  EXPECT_FALSE(Allows(TagUse::kOne, begin + std::string(400, ' ') + kAdd.substr(begin.size())));
}

TEST(TaggedOutput, SaysWhatIsWrong) {
  EXPECT_FALSE(TaggedOutput({}, "<a>", TagUse::kFree).ok());
  EXPECT_THAT(TaggedOutput(kTools, "<b>", TagUse::kFree).error().message, HasSubstr("<b>"));
  const std::vector<TaggedSchema> bad = {{"<a>", "{", "</a>"}};
  EXPECT_THAT(TaggedOutput(bad, "<a>", TagUse::kFree).error().message, HasSubstr("bad JSON"));
}

}  // namespace
}  // namespace hunch

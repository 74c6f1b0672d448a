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
  bool Allows(TagUse use, const std::string& answer) {
    const auto wanted = TaggedOutput(kTools, kTrigger, use);
    EXPECT_TRUE(wanted.ok());
    const auto grammar = grammars_.Compile(*wanted);
    EXPECT_TRUE(grammar.ok()) << grammar.error().message;
    if (!grammar.ok()) return false;
    const auto constraint = (*grammar)->Start();
    for (const char c : answer) {
      if (!constraint->Advance(static_cast<unsigned char>(c))) return false;
    }
    return constraint->Advance(ByteTokenizer::kEnd);
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

TEST(TaggedOutput, SaysWhatIsWrong) {
  EXPECT_FALSE(TaggedOutput({}, "<a>", TagUse::kFree).ok());
  EXPECT_THAT(TaggedOutput(kTools, "<b>", TagUse::kFree).error().message, HasSubstr("<b>"));
  const std::vector<TaggedSchema> bad = {{"<a>", "{", "</a>"}};
  EXPECT_THAT(TaggedOutput(bad, "<a>", TagUse::kFree).error().message, HasSubstr("bad JSON"));
}

}  // namespace
}  // namespace hunch

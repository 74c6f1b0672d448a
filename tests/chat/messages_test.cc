// Messages as clients send them (ggml-org/llama.cpp 13471, 8367, 14137).
#include "chat/messages.h"

#include <gtest/gtest.h>

#include <string>

namespace hunch {
namespace {

using Json = nlohmann::ordered_json;

Json Parse(const std::string& text) { return Json::parse(text); }

std::string ErrorOf(const std::string& messages) {
  const auto normalized = NormalizeMessages(Parse(messages));
  if (normalized.ok()) return "ok";
  EXPECT_EQ(normalized.error().code, ErrorCode::kInvalidArgument);
  return normalized.error().message;
}

TEST(NormalizeMessages, StringsStayAndOtherFieldsAreKept) {
  const Json messages = Parse(R"([{"role":"user","content":"a","name":"n"},
                                  {"role":"tool","content":"","tool_call_id":"7"}])");
  EXPECT_EQ(*NormalizeMessages(messages), messages);
  EXPECT_EQ(*NormalizeMessages(Json::array()), Json::array());
}

TEST(NormalizeMessages, ToolCallsMayLeaveContentOut) {
  const auto null = NormalizeMessages(
      Parse(R"([{"role":"assistant","content":null,"tool_calls":[{"id":"1"}]}])"));
  ASSERT_TRUE(null.ok());
  EXPECT_EQ((*null)[0]["content"], "");
  EXPECT_EQ((*null)[0]["tool_calls"].size(), 1u);
  const auto missing =
      NormalizeMessages(Parse(R"([{"role":"assistant","tool_calls":[{"id":"1"}]}])"));
  ASSERT_TRUE(missing.ok());
  EXPECT_EQ((*missing)[0]["content"], "");
}

TEST(NormalizeMessages, PartsAreJoinedInOrder) {
  const auto joined = NormalizeMessages(Parse(
      R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
          {"role":"user","content":[]},
          {"role":"assistant","content":[{"type":"text","text":"last"}]}])"));
  ASSERT_TRUE(joined.ok());
  EXPECT_EQ((*joined)[0]["content"], "ab");
  EXPECT_EQ((*joined)[1]["content"], "");
  EXPECT_EQ((*joined)[2]["content"], "last");
}

TEST(NormalizeMessages, TheRestIsRefusedByName) {
  EXPECT_NE(ErrorOf(R"([{"role":"user","content":5}])").find("messages[0].content"),
            std::string::npos);
  EXPECT_NE(ErrorOf(R"([{"role":"user","content":"a"},{"role":"user","content":{}}])")
                .find("messages[1].content must be a string or an array of text parts, not object"),
            std::string::npos);
  EXPECT_NE(ErrorOf(R"([{"role":"user","content":null}])").find("messages[0].content is missing"),
            std::string::npos);
  EXPECT_NE(ErrorOf(R"([{"role":"assistant","tool_calls":[]}])").find("messages[0].content"),
            std::string::npos);
  EXPECT_NE(ErrorOf(R"([{"role":"user","content":[{"text":"a"}]}])")
                .find("messages[0].content[0].type is missing"),
            std::string::npos);
  EXPECT_NE(ErrorOf(R"([{"role":"user","content":[{"type":"image_url","image_url":"x"}]}])")
                .find("\"image_url\"; only \"text\" is supported"),
            std::string::npos);
  EXPECT_NE(ErrorOf(R"([{"role":"user","content":[{"type":"text"}]}])").find("content[0].text"),
            std::string::npos);
  EXPECT_NE(ErrorOf(R"([{"role":"user","content":["a"]}])").find("content[0] must be an object"),
            std::string::npos);
  EXPECT_NE(ErrorOf(R"([{"content":"a"}])").find("messages[0].role"), std::string::npos);
  EXPECT_NE(ErrorOf(R"([{"role":7,"content":"a"}])").find("messages[0].role"), std::string::npos);
  EXPECT_NE(ErrorOf(R"(["a"])").find("messages[0] must be an object"), std::string::npos);
  EXPECT_NE(ErrorOf(R"({"role":"user"})").find("messages must be an array"), std::string::npos);
}

}  // namespace
}  // namespace hunch

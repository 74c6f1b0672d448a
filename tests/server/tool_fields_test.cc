// What chat requests say of tools: what is read, and that whatever is wrong is named by its field.
#include "server/tool_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/chat_request_bodies.h"
#include "support/fake_llm.h"

namespace hunch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Choice = ToolFields::Choice;

const std::string kTools = R"("tools": [
    {"type": "function", "function": {"name": "f", "description": "does", "strict": false,
     "parameters": {"type": "object", "properties": {}}}},
    {"type": "function", "function": {"name": "g-1_B"}}])";

TEST(ToolFields, NoToolsIsNoCall) {
  for (const std::string more : {"", R"("tools": [])", R"("tools": null, "tool_choice": "none")",
                                 R"("tool_choice": "auto", "parallel_tool_calls": false)"}) {
    const ChatRequest request = Good(more);
    EXPECT_FALSE(request.tools.MayCall());
    EXPECT_TRUE(request.tools.tools.is_null());
    EXPECT_EQ(request.tools.AnswerStart(), "");
    EXPECT_THAT(request.common.sampling.stop, IsEmpty());
  }
}

TEST(ToolFields, ACallThatMustComeAndAnotherFormAreNotBothHad) {
  const std::string form = R"(, "response_format": {"type": "json_object"})";
  ChatRequest request;
  const auto error =
      ReadChatRequest(Body(kTools + R"(, "tool_choice": "required")" + form), request);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->param, "tool_choice");
  EXPECT_THAT(error->message, HasSubstr("response_format"));
  EXPECT_NE(Good(kTools + form).common.sampling.structured_output, nullptr);
}

TEST(ToolFields, ReadsTools) {
  const ToolFields tools = Good(kTools).tools;
  EXPECT_TRUE(tools.MayCall());
  EXPECT_EQ(tools.choice, Choice::kAuto);
  EXPECT_TRUE(tools.parallel);
  EXPECT_THAT(tools.names, ElementsAre("f", "g-1_B"));
  EXPECT_THAT(tools.ParserOptions().names, ElementsAre("f", "g-1_B"));
  EXPECT_GT(tools.ParserOptions().most_calls, 1000);
  EXPECT_EQ(tools.AnswerStart(), "");
  // As they came, but for what is said to the server.
  EXPECT_EQ(tools.tools, Json::parse(R"([
    {"type": "function", "function": {"name": "f", "description": "does",
     "parameters": {"type": "object", "properties": {}}}},
    {"type": "function", "function": {"name": "g-1_B"}}])"));
}

TEST(ToolFields, AChoiceSaysHowTheAnswerBegins) {
  EXPECT_EQ(Good(kTools + R"(, "tool_choice": "required")").tools.AnswerStart(),
            "<tool_call>\n{\"name\": \"");
  const ChatRequest named =
      Good(kTools + R"(, "tool_choice": {"type": "function", "function": {"name": "g-1_B"}})");
  EXPECT_EQ(named.tools.AnswerStart(), "<tool_call>\n{\"name\": \"g-1_B\", \"arguments\":");
  EXPECT_EQ(named.tools.ParserOptions().most_calls, 1);
  EXPECT_THAT(named.common.sampling.stop, ElementsAre("</tool_call>"));
  const ChatRequest none = Good(kTools + R"(, "tool_choice": "none")");
  EXPECT_FALSE(none.tools.MayCall());
  EXPECT_TRUE(none.tools.tools.is_null());
}

// Two strict tools and one that is not.
const std::string kStrict = R"("tools": [
    {"type": "function", "function": {"name": "f", "strict": true, "parameters":
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}},
    {"type": "function", "function": {"name": "g", "strict": true}},
    {"type": "function", "function": {"name": "h", "parameters": {"type": "object"}}}])";

std::string CallOf(const std::string& name, const std::string& arguments) {
  return "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": " + arguments +
         "}\n</tool_call>";
}

class StrictTools : public testing::Test {
 protected:
  // Whether a request with these fields may be answered so.
  bool Allows(const std::string& more, const std::string& answer) {
    const ChatRequest request = Good(kStrict + more);
    EXPECT_EQ(request.tools.AnswerStart(), "");
    const auto output = request.tools.Output(request.common.sampling.structured_output);
    EXPECT_TRUE(output.ok() && *output != nullptr);
    const auto grammar = grammars_.Compile(**output);
    EXPECT_TRUE(grammar.ok()) << grammar.error().message;
    return grammar.ok() && Obeys(**grammar, tokenizer_.Encode(answer, false));
  }

  ByteTokenizer tokenizer_;
  Grammars grammars_{VocabularyOf(tokenizer_)};
  const std::string good_ = CallOf("f", R"({"a": 1})"), bad_ = CallOf("f", R"({"a": "1"})"),
                    empty_ = CallOf("g", "{}"), free_ = CallOf("h", R"({"b": [{}]})");
};

TEST_F(StrictTools, HoldArgumentsToTheirSchemas) {
  for (const std::string more : {"", R"(, "tool_choice": "auto")"}) {
    EXPECT_TRUE(Allows(more, "No call."));
    EXPECT_TRUE(Allows(more, "I ask:\n" + good_ + "\n" + empty_ + free_ + " Done."));
    EXPECT_FALSE(Allows(more, "I ask:\n" + bad_));
    EXPECT_FALSE(Allows(more, CallOf("g", R"({"a": 1})")));
    EXPECT_FALSE(Allows(more, CallOf("i", "{}")));
  }
  const std::string required = R"(, "tool_choice": "required")";
  EXPECT_TRUE(Allows(required, free_ + "\n" + good_));
  EXPECT_FALSE(Allows(required, "I ask:\n" + good_));
  EXPECT_FALSE(Allows(required, bad_));
  const std::string one = required + R"(, "parallel_tool_calls": false)";
  EXPECT_TRUE(Allows(one, good_));
  EXPECT_FALSE(Allows(one, good_ + "\n" + good_));
  const std::string named = R"(, "tool_choice": {"type": "function", "function": {"name": "f"}})";
  EXPECT_TRUE(Allows(named, good_));
  EXPECT_FALSE(Allows(named, empty_));
  EXPECT_FALSE(Allows(named, bad_));
}

TEST_F(StrictTools, ACallOrAnAnswerOfTheFormThatWasAsked) {
  const std::string more = R"(, "response_format": {"type": "json_schema", "json_schema": {"name":
      "n", "schema": {"type": "object", "properties": {"b": {"type": "boolean"}}, "required":
      ["b"]}}})";
  EXPECT_TRUE(Allows(more, R"({"b": true})"));
  EXPECT_TRUE(Allows(more, good_ + "\n" + empty_));
  EXPECT_FALSE(Allows(more, "No call."));
  EXPECT_FALSE(Allows(more, R"({"b": 1})"));
  EXPECT_FALSE(Allows(more, bad_));
  EXPECT_FALSE(Allows(more, good_ + R"({"b": true})"));
}

TEST(ToolFields, WithoutStrictToolsOnlyAFormHoldsTheAnswer) {
  EXPECT_EQ(*Good(kTools).tools.Output(nullptr), nullptr);
  EXPECT_EQ(*Good(kTools + R"(, "tool_choice": "required")").tools.Output(nullptr), nullptr);
  const auto form = std::make_shared<const StructuredOutput>(
      StructuredOutput{StructuredOutput::Kind::kChoice, R"(["yes", "no"])"});
  EXPECT_EQ(*Good("").tools.Output(form), form);
  EXPECT_EQ(*Good(kStrict + R"(, "tool_choice": "none")").tools.Output(form), form);
  EXPECT_NE(*Good(kTools).tools.Output(form), form);
}

TEST(ToolFields, OneCallIsEnoughIfTheyMayNotBeParallel) {
  const ChatRequest request = Good(kTools + R"(, "parallel_tool_calls": false, "stop": "x")");
  EXPECT_EQ(request.tools.ParserOptions().most_calls, 1);
  EXPECT_THAT(request.common.sampling.stop, ElementsAre("x", "</tool_call>"));
}

struct Wrong {
  std::string body, param, message;
};

TEST(ToolFields, WhateverIsWrongIsNamed) {
  const std::vector<Wrong> table = {
      {R"("tools": {})", "tools", "an array"},
      {R"("tools": [5])", "tools[0]", "an object"},
      {R"("tools": [{"function": {"name": "f"}}])", "tools[0].type", "\"function\""},
      {R"("tools": [{"type": "code", "function": {"name": "f"}}])", "tools[0].type",
       "\"function\""},
      {R"("tools": [{"type": "function"}])", "tools[0].function", "an object"},
      {R"("tools": [{"type": "function", "function": {}}])", "tools[0].function.name", "1 to 64"},
      {R"("tools": [{"type": "function", "function": {"name": "a b"}}])", "tools[0].function.name",
       "\"a b\""},
      {R"("tools": [{"type": "function", "function": {"name": 5}}])", "tools[0].function.name",
       "a string"},
      {R"("tools": [{"type": "function", "function": {"name": ")" + std::string(65, 'a') + "\"}}]",
       "tools[0].function.name", "1 to 64"},
      {kTools.substr(0, kTools.size() - 1) +
           R"(, {"type": "function", "function": {"name": "f"}}])",
       "tools[2].function.name", "another tool"},
      {R"("tools": [{"type": "function", "function": {"name": "f", "parameters": []}}])",
       "tools[0].function.parameters", "an object"},
      {R"("tools": [{"type": "function", "function": {"name": "f", "description": 1}}])",
       "tools[0].function.description", "a string"},
      {R"("tools": [{"type": "function", "function": {"name": "f", "strict": 1}}])",
       "tools[0].function.strict", "true or false"},
      {R"("tools": [{"type": "function", "function": {"name": "f", "strict": true,
          "parameters": {"type": "array"}}}])",
       "tools[0].function.parameters", "\"type\": \"object\""},
      {R"("tools": [{"type": "function", "function": {"name": "f", "strict": true,
          "parameters": {}}}])",
       "tools[0].function.parameters", "strict tool"},
      {R"("tools": [{"type": "function", "function": {"name": "f", "code": "x"}}])",
       "tools[0].function.code", "unknown field"},
      {R"("tools": [{"type": "function", "function": {"name": "f"}, "x": 1}])", "tools[0].x",
       "unknown field"},
      {R"("tool_choice": "required")", "tool_choice", "of no tools"},
      {kTools + R"(, "tool_choice": "f")", "tool_choice", "\"required\""},
      {kTools + R"(, "tool_choice": 1)", "tool_choice", "\"required\""},
      {kTools + R"(, "tool_choice": {"type": "function"})", "tool_choice.function", "an object"},
      {kTools + R"(, "tool_choice": {"function": {"name": "f"}})", "tool_choice.type",
       "\"function\""},
      {kTools + R"(, "tool_choice": {"type": "function", "function": {"name": "h"}})",
       "tool_choice.function.name", "\"h\""},
      {kTools + R"(, "parallel_tool_calls": 1)", "parallel_tool_calls", "true or false"},
  };
  for (const Wrong& wrong : table) {
    ChatRequest request;
    const auto error = ReadChatRequest(Body(wrong.body), request);
    ASSERT_TRUE(error) << wrong.body;
    EXPECT_EQ(error->status, 400);
    EXPECT_EQ(error->param, wrong.param) << error->message;
    EXPECT_THAT(error->message, HasSubstr(wrong.message));
  }
  std::string many = R"("tools": [)";
  for (int i = 0; i <= 128; ++i) {
    many += (i > 0 ? "," : "") +
            (R"({"type": "function", "function": {"name": "f)" + std::to_string(i) + "\"}}");
  }
  ChatRequest request;
  EXPECT_THAT(ReadChatRequest(Body(many + "]"), request)->message, HasSubstr("at most 128"));
}

// An assistant's message with this call, as JSON.
std::string Call(const std::string& call) {
  return R"({"role": "assistant", "tool_calls": [)" + call + "]}";
}

TEST(ToolMessages, CallsAndResultsAreTaken) {
  const Json body = Json::parse(
      R"({"messages": [{"role": "user", "content": "Hi"}, )" +
      Call(R"({"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
              {"id": "2", "type": "function", "function": {"name": "f", "arguments": {}}})") +
      R"(, {"role": "tool", "tool_call_id": "1", "content": "a"},
           {"role": "tool", "tool_call_id": "2", "content": [{"type": "text", "text": "b"}]}]})");
  ChatRequest request;
  const auto error = ReadChatRequest(body, request);
  ASSERT_FALSE(error) << error->message;
  EXPECT_EQ(request.messages[1]["tool_calls"], body["messages"][1]["tool_calls"]);
  EXPECT_EQ(request.messages[3]["content"], "b");
}

TEST(ToolMessages, WhateverIsWrongIsNamed) {
  const std::vector<Wrong> table = {
      {R"({"role": "tool", "content": "a"})", "messages[0].tool_call_id", "must name the call"},
      {R"({"role": "tool", "content": "a", "tool_call_id": 5})", "messages[0].tool_call_id",
       "call"},
      {R"({"role": "assistant", "content": "a", "tool_calls": {}})", "messages[0].tool_calls",
       "an array"},
      {Call("5"), "messages[0].tool_calls[0]", "an object"},
      {Call(R"({"function": {"name": "f", "arguments": ""}})"), "messages[0].tool_calls[0].id",
       "a string"},
      {Call(R"({"id": "1"})"), "messages[0].tool_calls[0].function", "an object"},
      {Call(R"({"id": "1", "function": {"arguments": ""}})"),
       "messages[0].tool_calls[0].function.name", "a string"},
      {Call(R"({"id": "1", "function": {"name": "f"}})"),
       "messages[0].tool_calls[0].function.arguments", "JSON"},
      {Call(R"({"id": "1", "function": {"name": "f", "arguments": 5}})"),
       "messages[0].tool_calls[0].function.arguments", "JSON"},
  };
  for (const Wrong& wrong : table) {
    ChatRequest request;
    const auto error =
        ReadChatRequest(Json::parse(R"({"messages": [)" + wrong.body + "]}"), request);
    ASSERT_TRUE(error) << wrong.body;
    EXPECT_EQ(error->param, wrong.param) << error->message;
    EXPECT_THAT(error->message, HasSubstr(wrong.message));
  }
}

}  // namespace
}  // namespace hunch

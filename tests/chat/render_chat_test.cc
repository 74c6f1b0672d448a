// Tools, and calls of them, in the templates of models.
#include "chat/render_chat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/files.h"

namespace hunch {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;

constexpr std::string_view kTools = R"([{"type": "function", "function": {"name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}])";

std::unique_ptr<ChatTemplate> Parsed(const std::string& source) {
  return ChatTemplate::Parse(source).value();
}
std::unique_ptr<ChatTemplate> Qwen() {
  return Parsed(ReadFile(GoldenPath("oracle/template_qwen2.5-coder.jinja")));
}

std::string Rendered(const ChatTemplate& chat_template, std::string_view messages,
                     std::string_view tools = "null") {
  const auto pieces = RenderChat(
      chat_template, {.messages = Json::parse(messages), .tools = Json::parse(tools)}, "");
  return pieces.ok() ? JoinPieces(*pieces) : "error: " + pieces.error().message;
}

// As `arguments` stands in a request.
std::string AfterCall(const std::string& arguments) {
  return R"([{"role": "user", "content": "q"}, {"role": "assistant", "content": null,
             "tool_calls": [{"id": "1", "type": "function", "function": {"name": "get_weather",
             "arguments": )" +
         arguments + R"(}}]}, {"role": "tool", "tool_call_id": "1", "content": "7 degrees"}])";
}

TEST(RenderChat, ToolsAreInThePrompt) {
  const std::string prompt = Rendered(*Qwen(), R"([{"role": "user", "content": "q"}])", kTools);
  EXPECT_THAT(prompt, HasSubstr("<tools>\n{\"type\": \"function\", \"function\": {\"name\": "
                                "\"get_weather\""));
  EXPECT_THAT(Rendered(*Qwen(), R"([{"role": "user", "content": "q"}])", "[]"),
              Not(HasSubstr("# Tools")));
}

// OpenAI's clients send text, templates of Hugging Face take objects.
TEST(RenderChat, ArgumentsAreObjectsForTheTemplate) {
  const std::string call =
      "<|im_start|>assistant\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": "
      "\"Paris\", \"n\": 2}}\n</tool_call><|im_end|>\n<|im_start|>user\n<tool_response>\n7 "
      "degrees\n</tool_response><|im_end|>\n";
  EXPECT_THAT(Rendered(*Qwen(), AfterCall(R"("{\"city\":\"Paris\",\"n\":2}")"), kTools),
              HasSubstr(call));
  EXPECT_THAT(Rendered(*Qwen(), AfterCall(R"({"city": "Paris", "n": 2})"), kTools),
              HasSubstr(call));
  // What is no object stays as it is.
  EXPECT_THAT(Rendered(*Qwen(), AfterCall(R"("{\"city\": ")")),
              HasSubstr(R"("arguments": "{\"city\": "})"));
}

TEST(RenderChat, ArgumentsAreTextForATemplateThatWantsIt) {
  const auto wants_text = Parsed(
      "{% for m in messages %}{% for c in m.tool_calls %}{{ '(' + c.function.arguments + ')' }}"
      "{% endfor %}{% endfor %}");
  EXPECT_EQ(Rendered(*wants_text, AfterCall(R"("{\"a\":  1}")")), "({\"a\":  1})");
  EXPECT_EQ(Rendered(*wants_text, AfterCall(R"({"a": 1})")), "({\"a\":1})");
}

TEST(RenderChat, TheFirstErrorIsTold) {
  const auto raises = Parsed("{{ raise_exception('no calls here') }}");
  EXPECT_THAT(Rendered(*raises, AfterCall("\"{}\"")), HasSubstr("no calls here"));
}

TEST(RenderChat, ToolsWithoutAPlaceAreAnError) {
  const auto smollm2 = Parsed(ReadFile(GoldenPath("oracle/template_smollm2.jinja")));
  EXPECT_THAT(Rendered(*smollm2, R"([{"role": "user", "content": "q"}])", kTools),
              HasSubstr("error: tools have no place"));
  EXPECT_THAT(Rendered(*smollm2, R"([{"role": "user", "content": "q"}])"),
              Not(HasSubstr("error: ")));
}

TEST(RenderChat, TheAnswersStartIsTheTemplatesOwnText) {
  const auto pieces = RenderChat(
      *Qwen(), {.messages = Json::parse(R"([{"role": "user", "content": "q"}])")}, "<tool_call>\n");
  ASSERT_TRUE(pieces.ok());
  EXPECT_EQ(pieces->back().text, "<tool_call>\n");
  EXPECT_TRUE(pieces->back().from_template);
  EXPECT_TRUE(JoinPieces(*pieces).ends_with("<|im_start|>assistant\n<tool_call>\n"));
}

}  // namespace
}  // namespace hunch

// Chats with tools: the calls in answers, whole and streamed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/api_fixture.h"

namespace hunch {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kTools = R"("tools": [
    {"type": "function", "function": {"name": "weather"}},
    {"type": "function", "function": {"name": "time"}}])";

class ApiToolsTest : public ApiTest {
 protected:
  std::shared_ptr<FakeReply> Ask(const std::string& more = "") {
    return Chat(std::string(kTools) + (more.empty() ? "" : ", " + more));
  }

  // A stream put together as clients do.
  struct Streamed {
    std::string content, finish_reason;
    Json calls = Json::array();
  };
  static Streamed Join(const std::vector<Json>& events) {
    Streamed all;
    for (const Json& event : events) {
      const Json& choice = event["choices"][0];
      const Json& delta = choice["delta"];
      if (delta.contains("content") && delta["content"].is_string()) {
        all.content += delta["content"].get<std::string>();
      }
      for (const Json& call : delta.value("tool_calls", Json::array())) {
        const auto index = call["index"].get<size_t>();
        if (index == all.calls.size()) {
          all.calls.push_back(call);
          all.calls.back().erase("index");
          continue;
        }
        EXPECT_FALSE(call.contains("id"));
        all.calls[index]["function"]["arguments"].get_ref<std::string&>() +=
            call["function"]["arguments"].get<std::string>();
      }
      if (choice["finish_reason"].is_string())
        all.finish_reason = choice["finish_reason"].get<std::string>();
    }
    return all;
  }
};

TEST_F(ApiToolsTest, ACallIsReadWholeAndStreamed) {
  script_.answer =
      "Let me see.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Paris\"}}\n"
      "</tool_call>\n<tool_call>\n{\"name\": \"time\", \"arguments\": {}}\n</tool_call>";
  const Json whole = Ask()->json()["choices"][0];
  EXPECT_EQ(calls_[0].prompt, "tools: weather time\nuser: Hi\n");
  EXPECT_EQ(whole["finish_reason"], "tool_calls");
  EXPECT_EQ(whole["message"]["content"], "Let me see.");
  const Json calls = whole["message"]["tool_calls"];
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0]["type"], "function");
  EXPECT_EQ(calls[0]["function"]["name"], "weather");
  EXPECT_EQ(calls[0]["function"]["arguments"], "{\"city\": \"Paris\"}");
  EXPECT_EQ(calls[1]["function"]["arguments"], "{}");
  EXPECT_THAT(calls[0]["id"].get<std::string>(), StartsWith("call_"));
  EXPECT_NE(calls[0]["id"], calls[1]["id"]);

  const auto stream = Ask(R"("stream": true)");
  const std::vector<Json> events = stream->Events();
  EXPECT_EQ(events[0]["choices"][0]["delta"], Json::parse(R"({"role": "assistant",
                                                              "content": null})"));
  Streamed joined = Join(events);
  EXPECT_EQ(joined.content, "Let me see.");
  EXPECT_EQ(joined.finish_reason, "tool_calls");
  ASSERT_EQ(joined.calls.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(joined.calls[i]["function"], calls[i]["function"]);
    EXPECT_EQ(joined.calls[i]["type"], "function");
  }
  // As the arguments come, and not at the end.
  EXPECT_GT(events.size(), 20u);
}

TEST_F(ApiToolsTest, TextAloneIsContent) {
  const Json whole = Ask()->json()["choices"][0];
  EXPECT_EQ(whole["finish_reason"], "stop");
  EXPECT_EQ(whole["message"]["content"], "one two three");
  EXPECT_FALSE(whole["message"].contains("tool_calls"));
  const Streamed joined = Join(Ask(R"("stream": true)")->Events());
  EXPECT_EQ(joined.content, "one two three");
  EXPECT_EQ(joined.finish_reason, "stop");
}

TEST_F(ApiToolsTest, WithoutToolsOrWithNoneTagsAreText) {
  script_.answer = "<tool_call>{\"name\": \"time\"}</tool_call>";
  EXPECT_EQ(Chat("")->json()["choices"][0]["message"]["content"], script_.answer);
  const Json none = Ask(R"("tool_choice": "none")")->json()["choices"][0];
  EXPECT_EQ(none["message"]["content"], script_.answer);
  EXPECT_EQ(none["finish_reason"], "stop");
  EXPECT_EQ(calls_[1].prompt, "user: Hi\n");
}

TEST_F(ApiToolsTest, ACallThatMustComeIsBegunForTheModel) {
  script_.answers["tools: weather time\nuser: Hi\n<tool_call>\n{\"name\": \""] =
      "time\", \"arguments\": {}}\n</tool_call>";
  const std::string start = "<tool_call>\n{\"name\": \"weather\", \"arguments\":";
  script_.answers["tools: weather time\nuser: Hi\n" + start] = " {\"city\": \"Rome\"}}\n";
  const Json required = Ask(R"("tool_choice": "required")")->json()["choices"][0];
  EXPECT_EQ(required["message"]["content"], nullptr);
  EXPECT_EQ(required["message"]["tool_calls"][0]["function"]["name"], "time");
  EXPECT_EQ(required["finish_reason"], "tool_calls");

  const std::string named =
      R"("tool_choice": {"type": "function", "function": {"name": "weather"}})";
  const Json whole = Ask(named)->json()["choices"][0];
  EXPECT_EQ(whole["message"]["tool_calls"][0]["function"]["arguments"], "{\"city\": \"Rome\"}");
  EXPECT_EQ(whole["finish_reason"], "tool_calls");
  const Streamed joined = Join(Ask(named + R"(, "stream": true)")->Events());
  EXPECT_EQ(joined.calls[0]["function"], whole["message"]["tool_calls"][0]["function"]);
}

TEST_F(ApiToolsTest, StrictToolsHoldTheModelToTheirSchemas) {
  const std::string strict = R"("tools": [{"type": "function", "function": {"name": "weather",
      "strict": true, "parameters": {"type": "object", "properties": {"city": {"type": "string"}},
      "required": ["city"]}}}])";
  // Without the tags nothing holds the arguments to anything, so it must be seen afterwards.
  for (const auto& [arguments, is_call] :
       {std::pair{R"({"city": "Rome"})", true}, std::pair{R"({"town": "Rome"})", false}}) {
    script_.answers["tools: weather\nuser: Hi\n"] =
        std::string("```json\n{\"name\": \"weather\", \"arguments\": ") + arguments + "}\n```";
    api_.reset();
    llm_.reset();
    const Json choice = Chat(strict)->json()["choices"][0];
    EXPECT_EQ(choice["finish_reason"], is_call ? "tool_calls" : "stop") << arguments;
    EXPECT_EQ(Join(Chat(strict + R"(, "stream": true)")->Events()).finish_reason,
              is_call ? "tool_calls" : "stop");
  }
  ASSERT_NE(calls_[0].params.structured_output, nullptr);
  EXPECT_EQ(calls_[0].params.structured_output->kind, StructuredOutput::Kind::kStructuralTag);
  // No call is begun for the model, which cannot but make one.
  Chat(strict + R"(, "tool_choice": "required")");
  EXPECT_EQ(calls_.back().prompt, "tools: weather\nuser: Hi\n");
}

TEST_F(ApiToolsTest, AnAnswerMayHaveAFormOrCalls) {
  const std::string form = R"("response_format": {"type": "json_object"})";
  script_.answer = R"({"name": "time", "arguments": {}})";
  const Json text = Ask(form)->json()["choices"][0];
  EXPECT_EQ(text["message"]["content"], script_.answer) << "the form is not taken for a call";
  EXPECT_EQ(text["finish_reason"], "stop");
  EXPECT_EQ(calls_[0].params.structured_output->kind, StructuredOutput::Kind::kStructuralTag);
  api_.reset();
  llm_.reset();
  script_.answer = "<tool_call>\n" + script_.answer + "\n</tool_call>";
  EXPECT_EQ(Ask(form)->json()["choices"][0]["finish_reason"], "tool_calls");
}

TEST_F(ApiToolsTest, ASchemaThatCannotBeHadIsNamed) {
  const auto strict = [](const std::string& schema) {
    return R"("tools": [{"type": "function", "function": {"name": "time"}}, {"type": "function",
              "function": {"name": "f", "strict": true, "parameters": )" +
           schema + "}}]";
  };
  ExpectError(*Chat(strict(R"({"type": "object", "properties": {"a": {"type": "nonsense"}}})")),
              400, "tools[1].function.parameters", nullptr);
  ExpectError(*Chat(strict(R"({"type": "object", "properties": {"a": {"enum": [")" +
                           std::string(70'000, 'x') + R"("]}}})")),
              400, "tools[1].function.parameters", nullptr);
  EXPECT_TRUE(calls_.empty());
}

TEST_F(ApiToolsTest, ACallThatIsCutIsNone) {
  script_.answer = "<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"Paris\"}}";
  const Json cut = Ask(R"("max_tokens": 60)")->json()["choices"][0];
  EXPECT_EQ(cut["finish_reason"], "length");
  EXPECT_EQ(cut["message"]["tool_calls"][0]["function"]["arguments"], "{\"city\": \"Paris\"");
  const Streamed joined = Join(Ask(R"("max_tokens": 60, "stream": true)")->Events());
  EXPECT_EQ(joined.finish_reason, "length");
  EXPECT_EQ(joined.calls[0]["function"], cut["message"]["tool_calls"][0]["function"]);
}

TEST_F(ApiToolsTest, LogprobsAreOfAllTokens) {
  script_.answer = "<tool_call>{\"name\": \"time\"}</tool_call>";
  const std::string more = R"("logprobs": true)";
  const Json whole = Ask(more)->json()["choices"][0];
  EXPECT_EQ(whole["logprobs"]["content"].size(), script_.answer.size());
  std::string text;
  for (const Json& event : Ask(more + R"(, "stream": true)")->Events()) {
    const Json& logprobs = event["choices"][0]["logprobs"];
    if (logprobs.is_null()) continue;
    for (const Json& token : logprobs["content"]) text += token["token"].get<std::string>();
  }
  EXPECT_EQ(text, script_.answer);
}

TEST_F(ApiToolsTest, EachChoiceHasItsOwnCalls) {
  script_.answer = "<tool_call>{\"name\": \"time\"}</tool_call>";
  const Json choices = Ask(R"("n": 2)")->json()["choices"];
  EXPECT_EQ(choices[1]["message"]["tool_calls"][0]["function"]["name"], "time");
  EXPECT_NE(choices[0]["message"]["tool_calls"][0]["id"],
            choices[1]["message"]["tool_calls"][0]["id"]);
}

TEST_F(ApiToolsTest, TheirTokensCanBeCounted) {
  const std::string body =
      R"({"messages": [{"role": "user", "content": "Hi"}], )" + std::string(kTools) + "}";
  const std::string prompt = "tools: weather time\nuser: Hi\n";
  EXPECT_EQ(Post("/tokenize", body)->json()["count"], prompt.size());
}

TEST_F(ApiToolsTest, ATemplateWithoutToolsSaysSo) {
  script_.has_tools = false;
  const auto reply = Ask();
  ExpectError(*reply, 400, "tools", nullptr);
  EXPECT_THAT(reply->json()["error"]["message"].get<std::string>(), HasSubstr("template"));
}

}  // namespace
}  // namespace hunch

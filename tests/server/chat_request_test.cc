// Chat requests: what is read, and that whatever is wrong is named by its field.
#include "server/chat_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/json_body.h"
#include "support/chat_request_bodies.h"

namespace hunch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(ChatRequest, SaysNothingAndMeansOpenAisDefaults) {
  const ChatRequest request = Good("");
  EXPECT_EQ(request.messages, Json::parse(R"([{"role": "user", "content": "Hi"}])"));
  EXPECT_EQ(request.common.sampling.temperature, 1);
  EXPECT_EQ(request.common.sampling.top_p, 1);
  EXPECT_EQ(request.common.sampling.max_tokens, -1);
  EXPECT_EQ(request.common.sampling.logprobs, -1);
  EXPECT_EQ(request.common.n, 1);
  EXPECT_FALSE(request.common.stream);
  EXPECT_FALSE(request.common.seed);
}

TEST(ChatRequest, ReadsEveryField) {
  const ChatRequest request = Good(R"(
      "model": "m", "temperature": 0.5, "top_p": 0.9, "top_k": 40, "min_p": 0.1, "typical_p": 0.8,
      "repetition_penalty": 1.1, "presence_penalty": -1, "frequency_penalty": 2,
      "logit_bias": {"5": -100, "7": 1.5}, "max_tokens": 3, "max_completion_tokens": 9,
      "min_tokens": 2, "stop": ["a", "b"], "stop_token_ids": [4], "ignore_eos": true,
      "acceptance": "ratio", "seed": -1, "n": 3, "stream": true,
      "stream_options": {"include_usage": true}, "logprobs": true, "top_logprobs": 5,
      "speculation": {"enabled": true, "method": "ngram", "num_speculative_tokens": 4, "trace": true},
      "user": "u", "metadata": {"a": "b"}, "response_format": {"type": "text"}, "tools": [])");
  const SamplingParams& s = request.common.sampling;
  EXPECT_EQ(request.common.model, "m");
  EXPECT_EQ(s.temperature, 0.5f);
  EXPECT_EQ(s.top_p, 0.9f);
  EXPECT_EQ(s.top_k, 40);
  EXPECT_EQ(s.min_p, 0.1f);
  EXPECT_EQ(s.typical_p, 0.8f);
  EXPECT_EQ(s.repetition_penalty, 1.1f);
  EXPECT_EQ(s.presence_penalty, -1);
  EXPECT_EQ(s.frequency_penalty, 2);
  EXPECT_THAT(s.logit_bias, ElementsAre(Pair(5, -100), Pair(7, 1.5f)));
  EXPECT_EQ(s.max_tokens, 9);
  EXPECT_EQ(s.min_tokens, 2);
  EXPECT_THAT(s.stop, ElementsAre("a", "b"));
  EXPECT_THAT(s.stop_token_ids, ElementsAre(4));
  EXPECT_TRUE(s.ignore_eos);
  EXPECT_EQ(s.acceptance, AcceptanceRule::kRatio);
  EXPECT_EQ(s.logprobs, 5);
  EXPECT_EQ(request.common.seed, ~uint64_t{0});
  EXPECT_EQ(request.common.n, 3);
  EXPECT_TRUE(request.common.stream);
  EXPECT_TRUE(request.common.include_usage);
  const SpeculativeConfig config = request.common.speculation.Over({});
  EXPECT_EQ(config.method, DraftMethod(DrafterKind::kNgram));
  EXPECT_EQ(config.num_speculative_tokens, 4);
  EXPECT_TRUE(request.common.speculation.trace);
}

TEST(ChatRequest, NullIsAbsent) {
  const ChatRequest request = Good(R"("temperature": null, "stop": null, "seed": null, "n": null,
      "logit_bias": null, "max_tokens": null, "stream_options": null, "tools": null,
      "top_logprobs": null, "speculation": null)");
  EXPECT_EQ(request.common.sampling.temperature, 1);
  EXPECT_EQ(request.common.n, 1);
}

TEST(ChatRequest, ContentPartsAreJoinedAndDevelopersAreTheSystem) {
  ChatRequest request;
  const Json body = Json::parse(R"({"messages": [
      {"role": "developer", "content": "Be brief."},
      {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
  ]})");
  ASSERT_FALSE(ReadChatRequest(body, request));
  EXPECT_EQ(request.messages[0]["role"], "system");
  EXPECT_EQ(request.messages[1]["content"], "ab");
}

struct Wrong {
  std::string body, param, message;
};

TEST(ChatRequest, WhateverIsWrongIsNamed) {
  const std::vector<Wrong> table = {
      {R"({})", "messages", "missing"},
      {R"({"messages": []})", "messages", "at least one"},
      {R"({"messages": "Hi"})", "messages", "array"},
      {R"({"messages": [5]})", "messages[0]", "must be an object"},
      {R"({"messages": [{"role": "king", "content": "Hi"}]})", "messages[0].role", "\"king\""},
      {R"({"messages": [{"content": "Hi"}]})", "messages[0].role", "missing"},
      {R"({"messages": [{"role": "user"}]})", "messages[0].content", "missing"},
      {R"({"messages": [{"role": "user", "content": 5}]})", "messages[0].content", "string"},
      {R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})",
       "messages[0].content[0].type", "image_url"},
  };
  for (const Wrong& wrong : table) {
    ChatRequest request;
    const auto error = ReadChatRequest(Json::parse(wrong.body), request);
    ASSERT_TRUE(error) << wrong.body;
    EXPECT_EQ(error->status, 400);
    EXPECT_EQ(error->param, wrong.param) << error->message;
    EXPECT_THAT(error->message, HasSubstr(wrong.message));
  }
  const std::vector<Wrong> fields = {
      {R"("n": 0)", "n", "1 to 64"},
      {R"("n": 65)", "n", "1 to 64"},
      {R"("n": 1.5)", "n", "whole number"},
      {R"("n": "2")", "n", "a string"},
      {R"("n": 18446744073709551615)", "n", "1 to 64"},
      {R"("temperature": -0.1)", "temperature", "at least 0"},
      {R"("temperature": "hot")", "temperature", "a string"},
      {R"("temperature": 1e300)", "temperature", "1e+300"},
      {R"("top_p": 0)", "top_p", "above 0"},
      {R"("top_p": 1.1)", "top_p", "at most 1"},
      {R"("top_k": -2)", "top_k", "-1 to"},
      {R"("min_p": 2)", "min_p", "at most 1"},
      {R"("presence_penalty": 3)", "presence_penalty", "at most 2"},
      {R"("frequency_penalty": -3)", "frequency_penalty", "at least -2"},
      {R"("repetition_penalty": 0)", "repetition_penalty", "above 0"},
      {R"("max_tokens": 0)", "max_tokens", "1 to"},
      {R"("max_completion_tokens": -5)", "max_completion_tokens", "1 to"},
      {R"("logit_bias": [])", "logit_bias", "object"},
      {R"("logit_bias": {"x": 1})", "logit_bias", "token id"},
      {R"("logit_bias": {"1": 101})", "logit_bias", "-100 to 100"},
      {R"("stop": "")", "stop", "empty"},
      {R"("stop": 5)", "stop", "string"},
      {R"("stop": ["a", 5])", "stop", "string"},
      {R"("stop_token_ids": [-1])", "stop_token_ids", "token ids"},
      {R"("seed": 1.5)", "seed", "whole number"},
      {R"("stream": "yes")", "stream", "true or false"},
      {R"("stream_options": {"include_usage": true})", "stream_options", "stream"},
      {R"("stream": true, "stream_options": {"x": 1})", "stream_options.x", "unknown field"},
      {R"("logprobs": 3)", "logprobs", "true or false"},
      {R"("top_logprobs": 3)", "top_logprobs", "logprobs"},
      {R"("logprobs": true, "top_logprobs": 21)", "top_logprobs", "0 to 20"},
      {R"("speculation": true)", "speculation", "object"},
      {R"("speculation": {"method": "magic"})", "speculation.method", "magic"},
      {R"("speculation": {"num_speculative_tokens": 0})", "speculation.num_speculative_tokens",
       "1 to 64"},
      {R"("speculation": {"model": "/etc/passwd"})", "speculation.model", "unknown field"},
      {R"("acceptance": "always")", "acceptance", "coupled"},
      {R"("response_format": "json")", "response_format", "an object"},
      {R"("response_format": {"type": "xml"})", "response_format.type", "json_schema"},
      {R"("response_format": {"type": "json_schema"})", "response_format.json_schema", "a name"},
      {R"("response_format": {"type": "json_schema", "json_schema": {"name": "n"}})",
       "response_format.json_schema.schema", "missing"},
      {R"("response_format": {"type": "json_schema", "json_schema": {"schema": {}}})",
       "response_format.json_schema.name", "missing"},
      {R"("response_format": {"type": "json_object"}, "guided_regex": "a+")", "guided_regex",
       "give one of them"},
      {R"("structured_outputs": {"regex": "a", "choice": ["b"]})", "structured_outputs.choice",
       "give one of them"},
      {R"("structured_outputs": {"xml": "a"})", "structured_outputs.xml", "unknown field"},
      {R"("guided_json": 5)", "guided_json", "must be JSON"},
      {R"("functions": [{"name": "f"}])", "functions", "use 'tools'"},
      {R"("function_call": "auto")", "function_call", "use 'tool_choice'"},
      {R"("temprature": 1)", "temprature", "unknown field"},
  };
  for (const Wrong& wrong : fields) {
    ChatRequest request;
    const auto error = ReadChatRequest(Body(wrong.body), request);
    ASSERT_TRUE(error) << wrong.body;
    EXPECT_EQ(error->status, 400);
    EXPECT_EQ(error->param, wrong.param) << error->message;
    EXPECT_THAT(error->message, HasSubstr(wrong.message));
  }
}

TEST(OutputFields, SayWhatTheAnswerMustLookLike) {
  using Kind = StructuredOutput::Kind;
  struct Right {
    std::string body;
    Kind kind;
    std::string text, field;
  };
  const std::vector<Right> fields = {
      {R"("response_format": {"type": "json_object"})", Kind::kJsonObject, "",
       "response_format.type"},
      {R"("response_format": {"type": "json_schema", "json_schema": {"name": "n", "strict": true,
          "schema": {"type": "object", "properties": {"b": {}, "a": {}}}}})",
       Kind::kJsonSchema, R"({"type":"object","properties":{"b":{},"a":{}}})",
       "response_format.json_schema.schema"},
      {R"("structured_outputs": {"json": "{\"type\": \"string\"}"})", Kind::kJsonSchema,
       R"({"type": "string"})", "structured_outputs.json"},
      {R"("structured_outputs": {"json_object": true})", Kind::kJsonObject, "",
       "structured_outputs.json_object"},
      {R"("structured_outputs": {"choice": ["a", "b"]})", Kind::kChoice, R"(["a","b"])",
       "structured_outputs.choice"},
      {R"("guided_regex": "[ab]+")", Kind::kRegex, "[ab]+", "guided_regex"},
      {R"("guided_grammar": "root ::= \"a\"")", Kind::kGrammar, R"(root ::= "a")",
       "guided_grammar"},
  };
  for (const Right& right : fields) {
    ChatRequest request;
    const auto error = ReadChatRequest(Body(right.body), request);
    ASSERT_FALSE(error) << right.body << error->message;
    ASSERT_NE(request.common.sampling.structured_output, nullptr) << right.body;
    EXPECT_EQ(request.common.sampling.structured_output->kind, right.kind);
    EXPECT_EQ(request.common.sampling.structured_output->text, right.text);
    EXPECT_EQ(request.common.output_field, right.field);
  }
  ChatRequest text;
  EXPECT_FALSE(ReadChatRequest(Body(R"("response_format": {"type": "text"})"), text));
  EXPECT_EQ(text.common.sampling.structured_output, nullptr);
}

TEST(SpeculationFields, ChangeWhatTheyNameOnly) {
  SpeculativeConfig server = {.method = DraftMethod::Auto(), .prompt_lookup_max = 7};
  EXPECT_EQ(SpeculationFields{}.Over(server).method, DraftMethod::Auto());
  EXPECT_TRUE(SpeculationFields{.enabled = false}.Over(server).method.none());
  const SpeculativeConfig four = SpeculationFields{.num_speculative_tokens = 4}.Over(server);
  EXPECT_EQ(four.num_speculative_tokens, 4);
  EXPECT_EQ(four.prompt_lookup_max, 7);
  EXPECT_EQ(SpeculationFields{.enabled = true}.Over({}).method, DraftMethod::Auto());
}

TEST(GenerationFields, TextsUnderASaltOfTheirOwnAreKeptInNoFile) {
  const SpeculativeConfig server = {.method = DraftMethod::Auto(), .suffix_store = "store.bin"};
  GenerationFields fields;
  EXPECT_EQ(fields.SpeculationOver(server).suffix_store, "store.bin");
  fields.cache_salt = "mine";
  const SpeculativeConfig own = fields.SpeculationOver(server);
  EXPECT_EQ(own.cache_salt, "mine");
  EXPECT_EQ(own.suffix_store, "");
  EXPECT_TRUE(own.shared_store);
}

TEST(JsonBody, OnlyAnObjectThatIsNotTooDeep) {
  EXPECT_TRUE(ParseBody(R"({"a": "[[[[{{{{\"["})").ok());
  EXPECT_THAT(ParseBody("").error().message, HasSubstr("empty"));
  EXPECT_THAT(ParseBody("[1]").error().message, HasSubstr("an array"));
  EXPECT_THAT(ParseBody("{\"a\": }").error().message, HasSubstr("bad JSON"));
  EXPECT_THAT(ParseBody("{\"a\": \"\xff\"}").error().message, HasSubstr("bad JSON"));
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_THAT(ParseBody("{\"a\": " + deep + "}").error().message, HasSubstr("deep"));
  EXPECT_FALSE(ParseBody("{\"a\": " + std::string(100000, '[')).ok());
}

}  // namespace
}  // namespace hunch

// The routes and answers of the API, on a model whose text is dictated and without a socket.
#include "server/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "support/api_fixture.h"

namespace hunch {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using namespace std::chrono_literals;

TEST_F(ApiTest, AnswersAChat) {
  const auto reply = Chat(R"("seed": 7, "temperature": 0.5)");
  ASSERT_EQ(reply->sent->status, 200) << reply->sent->body;
  const Json json = reply->json();
  EXPECT_EQ(json["object"], "chat.completion");
  EXPECT_THAT(json["id"].get<std::string>(), HasSubstr("chatcmpl-"));
  EXPECT_EQ(json["model"], "fake");
  EXPECT_EQ(json["system_fingerprint"], "fp");
  EXPECT_EQ(json["seed"], 7);
  const Json choice = json["choices"][0];
  EXPECT_EQ(choice["message"]["role"], "assistant");
  EXPECT_EQ(choice["message"]["content"], "one two three");
  EXPECT_EQ(choice["finish_reason"], "stop");
  EXPECT_EQ(choice["logprobs"], nullptr);
  EXPECT_EQ(json["usage"], Json::parse(R"({"prompt_tokens": 9, "completion_tokens": 14,
                                           "total_tokens": 23,
                                           "prompt_tokens_details": {"cached_tokens": 0}})"));
  EXPECT_EQ(json["timings"]["predicted_n"], 14);
  ASSERT_EQ(calls_.size(), 1u);
  EXPECT_EQ(calls_[0].prompt, "user: Hi\n");
  EXPECT_EQ(calls_[0].params.seed, 7u);
  EXPECT_EQ(calls_[0].params.temperature, 0.5f);
  EXPECT_EQ(calls_[0].speculation.method, DraftMethod::Auto());
}

TEST_F(ApiTest, DrawsASeedAndSaysWhich) {
  const Json first = Chat("")->json(), second = Chat("")->json();
  EXPECT_NE(first["seed"], second["seed"]);
  EXPECT_EQ(first["seed"], calls_[0].params.seed);
  // Every double holds it.
  EXPECT_LT(first["seed"].get<uint64_t>(), uint64_t{1} << 53);
}

TEST_F(ApiTest, ThePageIsForEverybody) {
  options_.api_key = "secret";
  const auto page = Ask("GET", "/");
  ASSERT_EQ(page->sent->status, 200);
  EXPECT_THAT(page->sent->content_type, HasSubstr("text/html"));
  EXPECT_EQ(Ask("GET", "/chat.js")->sent->status, 200);
  EXPECT_EQ(Ask("POST", "/")->sent->status, 405);
  ExpectError(*Ask("GET", "/v1/models"), 401, nullptr, "invalid_api_key");
}

TEST_F(ApiTest, StreamsAChat) {
  const auto reply = Chat(R"("stream": true, "stream_options": {"include_usage": true})");
  EXPECT_TRUE(reply->streaming);
  const std::vector<Json> events = reply->Events();
  ASSERT_GE(events.size(), 4u) << reply->stream;
  EXPECT_EQ(events[0]["object"], "chat.completion.chunk");
  EXPECT_EQ(events[0]["choices"][0]["delta"]["role"], "assistant");
  std::string text;
  for (size_t i = 1; i + 2 < events.size(); ++i) {
    text += events[i]["choices"][0]["delta"]["content"].get<std::string>();
    EXPECT_EQ(events[i]["choices"][0]["finish_reason"], nullptr);
    EXPECT_EQ(events[i]["usage"], nullptr);
    EXPECT_EQ(events[i]["id"], events[0]["id"]);
  }
  EXPECT_EQ(text, "one two three");
  const Json& last = events[events.size() - 2];
  EXPECT_EQ(last["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(last["choices"][0]["delta"], Json::object());
  EXPECT_EQ(last["timings"]["predicted_n"], 14);
  EXPECT_EQ(events.back()["choices"], Json::array());
  EXPECT_EQ(events.back()["usage"]["completion_tokens"], 14);
}

TEST_F(ApiTest, WithoutIncludeUsageAStreamHasNone) {
  for (const Json& event : Chat(R"("stream": true)")->Events()) {
    EXPECT_FALSE(event.contains("usage"));
  }
}

TEST_F(ApiTest, GivesSeveralChoicesTheirOwnNoise) {
  const Json json = Chat(R"("n": 3, "max_tokens": 2)")->json();
  ASSERT_EQ(json["choices"].size(), 3u);
  EXPECT_EQ(json["choices"][2]["index"], 2);
  EXPECT_EQ(json["choices"][2]["finish_reason"], "length");
  EXPECT_EQ(json["usage"]["prompt_tokens"], 9);  // once
  EXPECT_EQ(json["usage"]["completion_tokens"], 6);
  ASSERT_EQ(calls_.size(), 3u);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(calls_[i].params.choice, i);
    EXPECT_EQ(calls_[i].params.seed, calls_[0].params.seed);
  }
}

TEST_F(ApiTest, StreamsSeveralChoicesWhole) {
  const auto reply = Chat(R"("n": 2, "stream": true)");
  std::array<std::string, 2> texts;
  for (const Json& event : reply->Events()) {
    const Json& choice = event["choices"][0];
    texts[choice["index"].get<size_t>()] += choice["delta"].value("content", "");
  }
  EXPECT_THAT(texts, ElementsAre("one two three", "one two three"));
}

TEST_F(ApiTest, GivesLogprobsOfTheTextsTokens) {
  const Json json = Chat(R"("logprobs": true, "top_logprobs": 2)")->json();
  const Json content = json["choices"][0]["logprobs"]["content"];
  ASSERT_EQ(content.size(), 13u);  // without the end token
  EXPECT_EQ(content[0]["token"], "o");
  EXPECT_EQ(content[0]["bytes"], Json::parse("[111]"));
  EXPECT_EQ(content[0]["logprob"], -0.5);
  EXPECT_EQ(content[0]["top_logprobs"].size(), 2u);
  EXPECT_EQ(content[0]["top_logprobs"][0]["bytes"], Json::parse("[128]"));
  const auto stream = Chat(R"("logprobs": true, "stream": true)");
  EXPECT_EQ(stream->Events()[1]["choices"][0]["logprobs"]["content"][0]["token"], "o");
}

TEST_F(ApiTest, CompletesPromptsOfTextAndTokens) {
  const Json json =
      Post("/v1/completions", R"({"prompt": ["ab", "cd"], "n": 2, "echo": true, "max_tokens": 3})")
          ->json();
  EXPECT_EQ(json["object"], "text_completion");
  ASSERT_EQ(json["choices"].size(), 4u);
  EXPECT_EQ(json["choices"][0]["text"], "abone");
  EXPECT_EQ(json["choices"][3]["text"], "cdone");
  EXPECT_EQ(json["usage"]["prompt_tokens"], 4);
  const auto stream = Post("/v1/completions", R"({"prompt": [97], "stream": true, "echo": true})");
  std::string text;
  for (const Json& event : stream->Events()) text += event["choices"][0]["text"];
  EXPECT_EQ(text, "aone two three");
}

TEST_F(ApiTest, CompletionLogprobsCountCharacters) {
  script_.answer = "a\xc3\xa9z";
  const Json json =
      Post("/v1/completions", R"({"prompt": "x", "logprobs": 1, "max_tokens": 5})")->json();
  const Json logprobs = json["choices"][0]["logprobs"];
  EXPECT_EQ(logprobs["tokens"].size(), 4u);
  EXPECT_EQ(logprobs["text_offset"][1], 1);
  EXPECT_EQ(logprobs["top_logprobs"][0]["a"], -0.5);
  EXPECT_EQ(logprobs["top_logprobs"][0].size(), 2u);
}

TEST_F(ApiTest, AnEchoWithLogprobsHasThePromptsToo) {
  const std::string body = R"({"prompt": ["a\u00e9<end>", "x"], "echo": true, "logprobs": 1,
                               "max_tokens": 2)";
  const Json choices = Post("/v1/completions", body + "}")->json()["choices"];
  EXPECT_EQ(calls_[0].params.prompt_logprobs, 1);
  EXPECT_EQ(choices[0]["text"], "a\u00e9<end>on");
  EXPECT_EQ(choices[0]["logprobs"], Json::parse(R"({
      "text_offset": [0, 1, 1, 2, 7, 8],
      "token_logprobs": [null, -0.25, -0.25, -0.25, -0.5, -0.5],
      "tokens": ["a", "\ufffd", "\ufffd", "<end>", "o", "n"],
      "top_logprobs": [null, {"\ufffd": -0.25}, {"\ufffd": -0.25},
                       {"\ufffd": -1.0, "<end>": -0.25}, {"\ufffd": -1.0, "o": -0.5},
                       {"\ufffd": -1.0, "n": -0.5}]})"));
  // A stream has the same, the prompt's at once.
  std::array<Json, 2> joined;
  std::array<int, 2> events = {};
  for (const Json& event : Post("/v1/completions", body + R"(, "stream": true})")->Events()) {
    const Json& choice = event["choices"][0];
    Json& own = joined[choice["index"].get<size_t>()];
    ++events[choice["index"].get<size_t>()];
    if (own.is_null()) {
      own = choice;
      continue;
    }
    own["text"] = own["text"].get<std::string>() + choice["text"].get<std::string>();
    if (choice["logprobs"].is_null()) continue;
    for (const auto& [name, list] : choice["logprobs"].items()) {
      for (const Json& entry : list) own["logprobs"][name].push_back(entry);
    }
  }
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(joined[i]["text"], choices[i]["text"]);
    EXPECT_EQ(joined[i]["logprobs"], choices[i]["logprobs"]);
    EXPECT_EQ(events[i], 4);  // the prompt, two tokens, the end
  }
}

TEST_F(ApiTest, ARequestSaysHowToGuess) {
  Chat(R"("speculation": {"enabled": false})");
  Chat(R"("speculation": {"method": "suffix+ngram", "num_speculative_tokens": 3})");
  Chat(R"("cache_salt": "mine")");
  EXPECT_EQ(calls_[0].speculation.cache_salt, "");
  EXPECT_EQ(calls_[2].speculation.cache_salt, "mine");
  EXPECT_TRUE(calls_[0].speculation.method.none());
  EXPECT_EQ(DraftMethodName(calls_[1].speculation.method), "suffix+ngram");
  EXPECT_EQ(calls_[1].speculation.num_speculative_tokens, 3);
}

TEST_F(ApiTest, ListsModels) {
  const Json list = Ask("GET", "/v1/models")->json();
  EXPECT_EQ(list["object"], "list");
  EXPECT_EQ(list["data"][0]["id"], "fake");
  EXPECT_EQ(list["data"][1]["id"], "alias");
  EXPECT_EQ(list["data"][0]["max_model_len"], 1000);
  EXPECT_EQ(Ask("GET", "/v1/models/alias")->json()["id"], "alias");
  EXPECT_EQ(Ask("GET", "/v1/models/%61lias")->json()["id"], "alias");
  ExpectError(*Ask("GET", "/v1/models/"), 404, nullptr, nullptr);
  ExpectError(*Ask("GET", "/v1/models/other"), 404, "model", "model_not_found");
}

TEST_F(ApiTest, TokenizesAndBack) {
  const Json tokens = Post("/tokenize", R"({"prompt": "ab", "return_token_strs": true})")->json();
  EXPECT_EQ(tokens["tokens"], Json::parse("[97, 98]"));
  EXPECT_EQ(tokens["count"], 2);
  EXPECT_EQ(tokens["token_strs"], Json::parse(R"(["a", "b"])"));
  EXPECT_EQ(
      Post("/tokenize", R"({"messages": [{"role": "user", "content": "a"}]})")->json()["count"], 8);
  EXPECT_EQ(Post("/detokenize", R"({"tokens": [97, 98]})")->json()["prompt"], "ab");
  ExpectError(*Post("/detokenize", R"({"tokens": [257]})"), 400, "tokens", nullptr);
}

TEST_F(ApiTest, RefusesWhatIsWrong) {
  script_.max_model_len = 15;
  ExpectError(*Chat(R"("temperature": -1)"), 400, "temperature", nullptr);
  ExpectError(*Chat(R"("stream": true, "n": 0)"), 400, "n", nullptr);
  ExpectError(*Post("/v1/chat/completions", "{"), 400, nullptr, nullptr);
  ExpectError(*Chat(R"("model": "gpt-4")"), 404, "model", "model_not_found");
  ExpectError(*Ask("GET", "/v2"), 404, nullptr, nullptr);
  ExpectError(*Chat(R"("n": 7)"), 400, "n", nullptr);  // more than fit in the queue
  const auto method = Ask("GET", "/v1/completions");
  ExpectError(*method, 405, nullptr, nullptr);
  EXPECT_THAT(method->sent->headers, Contains(Pair("Allow", "POST")));
  // Before any byte of the stream.
  const auto long_prompt =
      Post("/v1/completions", R"({"prompt": "0123456789012345", "stream": true})");
  ExpectError(*long_prompt, 400, "prompt", nullptr);
  EXPECT_FALSE(long_prompt->streaming);
  EXPECT_TRUE(calls_.empty());
}

TEST_F(ApiTest, StructuredOutputReachesTheModelOrIsRefusedByName) {
  const std::string schema = R"("response_format": {"type": "json_schema", "json_schema":
      {"name": "n", "schema": {"type": "object", "properties": {"a": {"type": "integer"}}}}})";
  EXPECT_EQ(Chat(schema)->sent->status, 200);
  ASSERT_EQ(calls_.size(), 1u);
  ASSERT_NE(calls_[0].params.structured_output, nullptr);
  EXPECT_EQ(calls_[0].params.structured_output->kind, StructuredOutput::Kind::kJsonSchema);
  EXPECT_EQ(
      Post("/v1/completions", R"({"prompt": "a", "structured_outputs": {"choice": ["b", "c"]}})")
          ->sent->status,
      200);
  const auto refused = Chat(R"("stream": true, "response_format": {"type": "json_schema",
      "json_schema": {"name": "n", "schema": {"type": "nonsense"}}})");
  ExpectError(*refused, 400, "response_format.json_schema.schema", nullptr);
  EXPECT_FALSE(refused->streaming);
  ExpectError(*Chat(R"("guided_regex": "(")"), 400, "guided_regex", nullptr);
  ExpectError(*Post("/v1/completions", R"({"prompt": "a", "guided_grammar": "root ::= x"})"), 400,
              "guided_grammar", nullptr);
  EXPECT_EQ(calls_.size(), 2u);
}

TEST_F(ApiTest, AModelWithoutATemplateSaysSo) {
  script_.has_chat_template = false;
  ExpectError(*Chat(""), 400, "messages", nullptr);
}

TEST_F(ApiTest, AnErrorAtTheStartIsAnHttpErrorToo) {
  script_.start_error = Error{ErrorCode::kIo, "the table cannot be read"};
  const auto reply = Chat(R"("stream": true)");
  ExpectError(*reply, 500, nullptr, nullptr);
  EXPECT_FALSE(reply->streaming);
}

TEST_F(ApiTest, AsksForTheKeyEverywhereButAtHealth) {
  options_.api_key = "secret";
  for (const char* wrong :
       {"", "secret", "Bearer", "Bearer ", "Bearer secre", "Bearer secrett", "Bearer Secret"}) {
    ExpectError(*Ask("GET", "/v1/models", "", wrong), 401, nullptr, "invalid_api_key");
  }
  EXPECT_EQ(Ask("GET", "/v1/models", "", "Bearer secret")->sent->status, 200);
  EXPECT_EQ(Ask("GET", "/health")->sent->status, 200);
}

TEST_F(ApiTest, AFullQueueSaysWhenToComeBack) {
  std::mutex gate;
  std::unique_lock closed(gate);
  script_.before_token = [&](size_t) { std::lock_guard wait(gate); };
  async_ = {.max_num_seqs = 1, .max_queued = 0};
  const std::string body = R"({"messages": [{"role": "user", "content": "Hi"}]})";
  const auto first = Ask("POST", "/v1/chat/completions", body);
  first->PumpOne();
  const auto second = Post("/v1/chat/completions", body);
  ExpectError(*second, 429, nullptr, "queue_full");
  EXPECT_THAT(second->sent->headers, Contains(Pair("Retry-After", "1")));
  closed.unlock();
  first->Pump();
  EXPECT_EQ(first->sent->status, 200);
}

TEST_F(ApiTest, AClientThatLeavesIsCancelled) {
  std::mutex gate;
  std::unique_lock closed(gate);
  script_.before_token = [&](size_t) { std::lock_guard wait(gate); };
  script_.answer = std::string(100, 'x');
  const auto reply = Ask("POST", "/v1/completions", R"({"prompt": "a", "max_tokens": 90, "n": 2})");
  reply->PumpOne();
  EXPECT_EQ(llm_->load().running + llm_->load().waiting, 2);
  reply->Leave();
  closed.unlock();
  EXPECT_TRUE(llm_->Drain(10s));
  llm_->Stop();
  while (!reply->complete) {
    // What still arrives is dropped.
    reply->Post([&] { reply->complete = true; });
    reply->Pump();
  }
  EXPECT_FALSE(reply->sent);
  EXPECT_TRUE(reply->stream.empty());
}

TEST_F(ApiTest, WhileDrainingNothingNewIsTaken) {
  EXPECT_EQ(Ask("GET", "/health")->json()["status"], "ok");
  api_->Drain();
  ExpectError(*Ask("GET", "/health"), 503, nullptr, "shutting_down");
  ExpectError(*Ask("POST", "/v1/completions", R"({"prompt": "a"})"), 503, nullptr, "shutting_down");
}

TEST_F(ApiTest, MetricsNeedNoKeyAndCountWhatWasAsked) {
  options_.api_key = "secret";
  script_.totals.generation_tokens = 7;
  const auto answer = Ask("POST", "/v1/completions", R"({"prompt": "Hi"})", "Bearer secret");
  answer->Pump();
  llm_->Drain(1000ms);
  const std::string text = Ask("GET", "/metrics")->sent->body;
  EXPECT_THAT(text, HasSubstr("vllm:generation_tokens_total{model_name=\"fake\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("vllm:request_prompt_tokens_count{model_name=\"fake\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("vllm:kv_cache_usage_perc{model_name=\"fake\"} 0.25\n"));
}

}  // namespace
}  // namespace hunch

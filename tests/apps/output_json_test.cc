#include "apps/output_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/fake_llm.h"

namespace hunch {
namespace {

RequestOutput Answer() {
  RequestOutput output;
  output.text = "abc";
  output.token_ids = {'a', 'b', 'c'};
  output.prompt_tokens = 10;
  output.finish_reason = FinishReason::kLength;
  output.timings = {1.0, 0.5, 0.25};
  output.speculation = {
      .method = DraftMethod(DrafterKind::kNgram),
      .drafts = 1,
      .draft_tokens = 4,
      .accepted_tokens = 1,
      .accepted_per_position = {1, 0},
      .target_passes = 1,
      .decode_tokens = 2,
      .fallbacks = 1,
      .probes = 2,
      .draft_seconds = 0.5,
      .target_seconds = 1.0,
      .plain_seconds = 2.0,
      .drafters = {
          {.name = "ngram", .trees = 1, .draft_tokens = 4, .accepted_tokens = 1, .seconds = 0.5}}};
  return output;
}

TEST(OutputJson, HasTheDocumentedShape) {
  const Json json = OutputJson(Answer(), ByteTokenizer(), 2.0);
  EXPECT_EQ(
      DumpJson(json),
      R"({"text":"abc","token_ids":[97,98,99],"prompt_tokens":10,"completion_tokens":3,)"
      R"("finish_reason":"length","timings":{"load_ms":2000.0,"prefill_ms":500.0,)"
      R"("decode_ms":250.0,"prefill_tokens_per_second":20.0,)"
      R"("decode_tokens_per_second":8.0},"speculation":{"method":"ngram","drafts":1,)"
      R"("draft_tokens":4,"accepted_tokens":1,"accepted_per_position":[1,0],)"
      R"("acceptance_rate":0.25,"mean_accepted_length":2.0,"target_passes":1,)"
      R"("tokens_per_pass":2.0,"drafter_errors":0,"draft_ms":500.0,"target_ms":1000.0,)"
      R"("draft_throughput":8.0,"target_throughput":2.0,"speedup_estimate":1.3333333333333333,)"
      R"("return_on_drafting":1.0,"fallbacks":1,"probes":2,"drafters":{"ngram":{"drafts":1,)"
      R"("draft_tokens":4,"accepted_tokens":1,"acceptance_rate":0.25,"passes":0,"ms":500.0,)"
      R"("failures":0}}}})");
}

TEST(OutputJson, RatiosThatDoNotExistAreNull) {
  RequestOutput output;
  output.token_ids = {'a'};
  const Json json = OutputJson(output, ByteTokenizer(), 0);
  EXPECT_TRUE(json["speculation"]["acceptance_rate"].is_null());
  EXPECT_EQ(json["speculation"]["mean_accepted_length"], 1.0);
  EXPECT_EQ(json["speculation"]["tokens_per_pass"], 0.0);
  EXPECT_TRUE(json["timings"]["prefill_tokens_per_second"].is_null());
  EXPECT_TRUE(json["timings"]["decode_tokens_per_second"].is_null());
  EXPECT_FALSE(json.contains("logprobs"));
  EXPECT_EQ(DumpJson(json).find("nan"), std::string::npos);
}

TEST(OutputJson, LogprobsTakeTokensThatAreNoText) {
  RequestOutput output = Answer();
  output.text = "a\xff";
  output.logprobs = {{'a', -0.5f, {{0xE6, -1.0f}, {'b', -std::numeric_limits<float>::infinity()}}}};
  const std::string text = DumpJson(OutputJson(output, ByteTokenizer(), 0));
  const Json json = Json::parse(text);
  EXPECT_EQ(json["text"], "a\uFFFD");
  EXPECT_EQ(json["logprobs"][0]["token_id"], 97);
  EXPECT_EQ(json["logprobs"][0]["token"], "a");
  EXPECT_EQ(json["logprobs"][0]["logprob"], -0.5);
  EXPECT_EQ(json["logprobs"][0]["top"][0]["token_id"], 0xE6);
  EXPECT_EQ(json["logprobs"][0]["top"][0]["token"], "\uFFFD");
  EXPECT_TRUE(json["logprobs"][0]["top"][1]["logprob"].is_null());
}

TEST(JsonText, ErrorsAreOneLineWithThePlace) {
  const auto error = ParseJson("{\"a\": tru}");
  ASSERT_FALSE(error.ok());
  EXPECT_THAT(error.error().message, ::testing::StartsWith("bad JSON: parse error at line 1, "));
  EXPECT_FALSE(ParseJson("\"\xff\"").ok());
  EXPECT_FALSE(ParseJson(R"("\ud83d")").ok());
  EXPECT_FALSE(ParseJson(std::string(100000, '[')).ok());
}

}  // namespace
}  // namespace hunch

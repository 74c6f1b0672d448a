#include "apps/batch_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session/json_text.h"

namespace hunch {
namespace {

using ::testing::HasSubstr;

constexpr char kGood[] =
    R"({"custom_id": "a", "method": "POST", "url": "/v1/completions", "body": {"prompt": "x"}})";

std::string With(const std::string& field, const Json& value) {
  Json line = Json::parse(kGood);
  line[field] = value;
  return DumpJson(line);
}

BatchRequest Request(const std::string& text) {
  auto parsed = ParseBatchLine(text);
  EXPECT_TRUE(std::holds_alternative<BatchRequest>(parsed)) << text;
  auto* request = std::get_if<BatchRequest>(&parsed);
  return request == nullptr ? BatchRequest{} : *request;
}

BatchRefusal Refusal(const std::string& text) {
  auto parsed = ParseBatchLine(text);
  EXPECT_TRUE(std::holds_alternative<BatchRefusal>(parsed)) << text;
  auto* refusal = std::get_if<BatchRefusal>(&parsed);
  return refusal == nullptr ? BatchRefusal{} : *refusal;
}

TEST(BatchLine, IsAPathAndABody) {
  const BatchRequest request = Request(kGood);
  EXPECT_EQ(request.custom_id, "a");
  EXPECT_EQ(request.path, "/v1/completions");
  EXPECT_EQ(Json::parse(request.body)["prompt"], "x");
  EXPECT_EQ(Request(With("url", "/v1/chat/completions")).path, "/v1/chat/completions");
  EXPECT_EQ(Request(With("of_no_interest", 1)).custom_id, "a");
}

TEST(BatchLine, HasASeedOfItsOwnUnlessItNamesOne) {
  const auto seed = [](const std::string& text) { return Json::parse(Request(text).body)["seed"]; };
  EXPECT_TRUE(seed(kGood).is_number_unsigned());
  EXPECT_LT(seed(kGood).get<uint64_t>(), uint64_t{1} << 53);
  EXPECT_EQ(seed(kGood), seed(With("body", {{"prompt", "y"}, {"seed", nullptr}})));
  EXPECT_NE(seed(kGood), seed(With("custom_id", "b")));
  EXPECT_EQ(seed(With("body", {{"prompt", "x"}, {"seed", 7}})), 7);
}

TEST(BatchLine, WhatIsNoRequestSaysWhy) {
  const struct {
    std::string text;
    const char* param;
    const char* message;
  } cases[] = {
      {With("custom_id", nullptr), "custom_id", "\"custom_id\" must be a string, not absent"},
      {With("custom_id", 3), "custom_id", "must be a string, not a number"},
      {With("custom_id", ""), "custom_id", "is empty"},
      {With("method", "GET"), "method", "must be \"POST\""},
      {With("url", "/v1/embeddings"), "url", "/v1/chat/completions and /v1/completions"},
      {With("url", 3), "url", "must be a string"},
      {With("body", "text"), "body", "must be an object, not a string"},
      {With("body", {{"stream", true}}), "stream", "cannot be streamed"},
  };
  for (const auto& c : cases) {
    const BatchRefusal refusal = Refusal(c.text);
    EXPECT_EQ(refusal.error.status, 400);
    EXPECT_EQ(refusal.error.param, c.param) << c.text;
    EXPECT_EQ(refusal.error.code, "invalid_line");
    EXPECT_THAT(refusal.error.message, HasSubstr(c.message));
    EXPECT_EQ(refusal.custom_id.has_value(), std::string(c.param) != "custom_id") << c.text;
  }
  for (const std::string& text :
       {std::string("{"), std::string("[1]"), std::string("\xff"), std::string(1000, '[')}) {
    EXPECT_EQ(Refusal(text).error.code, "invalid_json_line");
    EXPECT_FALSE(Refusal(text).custom_id);
  }
}

TEST(BatchLine, AnAnswerIsALineThatIsKnownAgain) {
  const HttpResponse response = {.body = R"({"id": "x", "system_fingerprint": "fp"})"};
  const std::string line = AnsweredLine(0xab, "a\nb", response);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const Json json = Json::parse(line);
  EXPECT_EQ(json["id"], "batch_req_00000000000000ab");
  EXPECT_EQ(json["custom_id"], "a\nb");
  EXPECT_EQ(json["response"]["status_code"], 200);
  EXPECT_EQ(json["response"]["request_id"], "req_00000000000000ab");
  EXPECT_EQ(json["response"]["body"]["id"], "x");
  EXPECT_TRUE(json["error"].is_null());
  const auto done = ParseDoneLine(line);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->id, 0xabu);
  EXPECT_EQ(done->fingerprint, "fp");
  for (size_t length = 0; length < line.size(); ++length) {
    EXPECT_TRUE(MayBeTornLine(line.substr(0, length))) << length;
  }
}

TEST(BatchLine, ARefusalHasOpenAisErrorObject) {
  BatchRefusal refusal;
  refusal.error = {.message = "m", .param = "p", .code = "c"};
  const std::string line = RefusedLine(~uint64_t{0}, refusal);
  const Json json = Json::parse(line);
  EXPECT_TRUE(json["custom_id"].is_null());
  EXPECT_TRUE(json["response"].is_null());
  EXPECT_EQ(json["error"], Json::parse(R"({"message": "m", "type": "invalid_request_error",
                                           "param": "p", "code": "c"})"));
  const auto done = ParseDoneLine(line);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->id, ~uint64_t{0});
  EXPECT_EQ(done->fingerprint, "");
}

TEST(BatchLine, WhatOthersWroteIsNotTakenForOurs) {
  for (const char* text :
       {"", "{}", "[]", "text", R"({"id": 3})", R"({"id": "batch_req_abc"})",
        R"({"id": "batch_req_00000000000000aB"})", R"({"id": "cmpl-000000000000000a"})"}) {
    EXPECT_FALSE(ParseDoneLine(text)) << text;
  }
  EXPECT_FALSE(MayBeTornLine("{\"custom_id\""));
  EXPECT_FALSE(MayBeTornLine("text"));
}

}  // namespace
}  // namespace hunch

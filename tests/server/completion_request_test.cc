// Requests for plain completions, tokens and text.
#include "server/completion_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hunch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Tokens = std::vector<TokenId>;

CompletionRequest Good(const std::string& body) {
  CompletionRequest request;
  const auto error = ReadCompletionRequest(Json::parse(body), request);
  EXPECT_FALSE(error) << error->message;
  return request;
}

TEST(CompletionRequest, TakesPromptsOfEveryForm) {
  EXPECT_THAT(Good(R"({"prompt": "a"})").prompts, ElementsAre(PromptText("a")));
  EXPECT_THAT(Good(R"({"prompt": ["a", "b"]})").prompts,
              ElementsAre(PromptText("a"), PromptText("b")));
  EXPECT_THAT(Good(R"({"prompt": [1, 2]})").prompts, ElementsAre(PromptText(Tokens{1, 2})));
  EXPECT_THAT(Good(R"({"prompt": [[1], [2, 3]]})").prompts,
              ElementsAre(PromptText(Tokens{1}), PromptText(Tokens{2, 3})));
}

TEST(CompletionRequest, WritesSixteenTokensUnlessToldOtherwise) {
  EXPECT_EQ(Good(R"({"prompt": "a"})").common.sampling.max_tokens, 16);
  EXPECT_EQ(Good(R"({"prompt": "a", "max_tokens": 5})").common.sampling.max_tokens, 5);
}

TEST(CompletionRequest, ReadsItsOwnFields) {
  const CompletionRequest request =
      Good(R"({"prompt": "a", "echo": true, "n": 2, "best_of": 2, "suffix": null})");
  EXPECT_TRUE(request.echo);
  EXPECT_EQ(request.logprobs, -1);
  EXPECT_EQ(Good(R"({"prompt": "a", "logprobs": 3})").common.sampling.logprobs, 3);
  EXPECT_EQ(Good(R"({"prompt": "a", "logprobs": 3})").common.sampling.prompt_logprobs, -1);
  EXPECT_EQ(request.common.sampling.prompt_logprobs, -1);
  EXPECT_EQ(Good(R"({"prompt": "a", "logprobs": 3, "echo": true})").common.sampling.prompt_logprobs,
            3);
}

struct Wrong {
  std::string body, param, message;
};

TEST(CompletionRequest, WhateverIsWrongIsNamed) {
  const std::vector<Wrong> table = {
      {R"({})", "prompt", "missing"},
      {R"({"prompt": 5})", "prompt", "must be a string"},
      {R"({"prompt": {"a": 1}})", "prompt", "must be a string"},
      {R"({"prompt": [1, "a"]})", "prompt", "must be a string"},
      {R"({"prompt": ["a", 1.5]})", "prompt", "must be a string"},
      {R"({"prompt": [-1]})", "prompt", "must be a string"},
      {R"({"prompt": "a", "logprobs": 21})", "logprobs", "0 to 20"},
      {R"({"prompt": "a", "best_of": 3})", "best_of", "not supported"},
      {R"({"prompt": "a", "suffix": "end"})", "suffix", "not supported"},
      {R"({"prompt": "a", "messages": []})", "messages", "unknown field"},
  };
  for (const Wrong& wrong : table) {
    CompletionRequest request;
    const auto error = ReadCompletionRequest(Json::parse(wrong.body), request);
    ASSERT_TRUE(error) << wrong.body;
    EXPECT_EQ(error->param, wrong.param) << error->message;
    EXPECT_THAT(error->message, HasSubstr(wrong.message));
  }
}

TEST(TokenizeRequest, TakesAPromptOrAChat) {
  TokenizeRequest request;
  EXPECT_FALSE(ReadTokenizeRequest(Json::parse(R"({"prompt": "a"})"), request));
  EXPECT_EQ(request.prompt, "a");
  TokenizeRequest chat;
  EXPECT_FALSE(ReadTokenizeRequest(
      Json::parse(R"({"messages": [{"role": "user", "content": "a"}]})"), chat));
  EXPECT_FALSE(chat.prompt);
  for (const char* body :
       {R"({})", R"({"prompt": "a", "messages": [{"role": "user", "content": "a"}]})"}) {
    TokenizeRequest both;
    EXPECT_EQ(ReadTokenizeRequest(Json::parse(body), both)->param, "prompt");
  }
}

TEST(DetokenizeRequest, TakesTokens) {
  DetokenizeRequest request;
  EXPECT_FALSE(ReadDetokenizeRequest(Json::parse(R"({"tokens": [1, 2]})"), request));
  EXPECT_THAT(request.tokens, ElementsAre(1, 2));
  EXPECT_EQ(ReadDetokenizeRequest(Json::parse(R"({})"), request)->param, "tokens");
  EXPECT_EQ(ReadDetokenizeRequest(Json::parse(R"({"tokens": "a"})"), request)->param, "tokens");
}

}  // namespace
}  // namespace hunch

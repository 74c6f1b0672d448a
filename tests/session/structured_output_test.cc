// Structured output on SmolLM2: answers have the form that was asked for, and the same text with
// and without guessing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "chat/tool_call_parser.h"
#include "session/json_text.h"
#include "session/llm.h"
#include "session/tagged_output.h"
#include "support/models.h"

namespace hunch {
namespace {

using Kind = StructuredOutput::Kind;
using ::testing::AnyOf;
using ::testing::HasSubstr;

const char kPerson[] = R"({"type": "object", "properties": {
    "name": {"type": "string", "maxLength": 20}, "age": {"type": "integer"},
    "colours": {"type": "array", "items": {"enum": ["red", "green", "blue"]},
                "minItems": 1, "maxItems": 3}},
    "required": ["name", "age", "colours"]})";

class StructuredOutputTest : public testing::Test {
 protected:
  static Llm* Shared() {
    static Llm* const llm = [] {
      const auto path = ModelPath("smollm2");
      return path
                 ? Llm::Load({.model = *path, .threads = 2, .max_model_len = 512}).value().release()
                 : nullptr;
    }();
    return llm;
  }
  void SetUp() override {
    llm_ = Shared();
    if (llm_ == nullptr) GTEST_SKIP() << "model smollm2 is not in the model folder";
    prompt_ = llm_->EncodeChat({{{"role", "user"}, {"content", "Describe a person."}}}).value();
  }
  static SamplingParams Params(Kind kind, const std::string& text) {
    SamplingParams params;
    params.max_tokens = 200;
    params.structured_output =
        std::make_shared<const StructuredOutput>(StructuredOutput{kind, text});
    return params;
  }
  RequestOutput Answer(const SamplingParams& params, const DraftMethod& method) {
    SpeculativeConfig speculation = {.method = method};
    if (!method.automatic() && !method.none()) speculation.num_speculative_tokens = 4;
    return llm_->Generate(prompt_, params, speculation, nullptr).value();
  }
  // The answer, which every way of guessing gives.
  RequestOutput Same(const SamplingParams& params) {
    const RequestOutput plain = Answer(params, {});
    int64_t forced = 0;
    for (const DraftMethod& method :
         {DraftMethod(DrafterKind::kNgram), DraftMethod(DrafterKind::kTokenRecycling),
          DraftMethod::Auto()}) {
      const RequestOutput guessed = Answer(params, method);
      EXPECT_EQ(guessed.token_ids, plain.token_ids) << DraftMethodName(method);
      EXPECT_EQ(guessed.text, plain.text);
      EXPECT_EQ(guessed.finish_reason, plain.finish_reason);
      for (const DrafterStats& drafter : guessed.speculation.drafters) {
        if (drafter.name == "forced") forced += drafter.accepted_tokens;
      }
    }
    forced_ += forced;
    return plain;
  }

  Llm* llm_ = nullptr;
  std::vector<TokenId> prompt_;
  int64_t forced_ = 0;  // guesses that were accepted because the form allowed no other
};

TEST_F(StructuredOutputTest, AnAnswerMatchesItsSchema) {
  for (const float temperature : {0.0f, 0.8f, 1.5f}) {
    for (uint64_t seed = 1; seed <= (temperature > 0 ? 3u : 1u); ++seed) {
      SamplingParams params = Params(Kind::kJsonSchema, kPerson);
      params.temperature = temperature;
      params.seed = seed;
      const RequestOutput output = Same(params);
      SCOPED_TRACE(output.text);
      ASSERT_EQ(output.finish_reason, FinishReason::kStop);
      const auto json = ParseJsonObject(output.text);
      ASSERT_TRUE(json.ok()) << json.error().message;
      EXPECT_EQ(json->size(), 3u);
      EXPECT_LE((*json)["name"].get<std::string>().size(), 80u);
      EXPECT_TRUE((*json)["age"].is_number_integer());
      const Json& colours = (*json)["colours"];
      ASSERT_TRUE(colours.is_array());
      EXPECT_GE(colours.size(), 1u);
      EXPECT_LE(colours.size(), 3u);
      for (const Json& colour : colours) {
        EXPECT_THAT(colour.get<std::string>(), AnyOf("red", "green", "blue"));
      }
    }
  }
  EXPECT_GT(forced_, 0) << "the names of its fields are free guesses";
}

TEST_F(StructuredOutputTest, TheOtherForms) {
  EXPECT_THAT(Same(Params(Kind::kChoice, R"(["yes", "no", "perhaps"])")).text,
              AnyOf("yes", "no", "perhaps"));
  const std::string date = Same(Params(Kind::kRegex, "[0-9]{4}-[0-9]{2}-[0-9]{2}")).text;
  EXPECT_TRUE(std::regex_match(date, std::regex("[0-9]{4}-[0-9]{2}-[0-9]{2}"))) << date;
  const std::string sum = Same(Params(Kind::kGrammar, R"(root ::= [1-9] (" + " [1-9]){2,4})")).text;
  EXPECT_TRUE(std::regex_match(sum, std::regex("[1-9]( \\+ [1-9]){2,4}"))) << sum;
  const RequestOutput object = Same(Params(Kind::kJsonObject, ""));
  EXPECT_EQ(object.text.front(), '{');
  if (object.finish_reason == FinishReason::kStop) {
    EXPECT_TRUE(ParseJsonObject(object.text).ok()) << object.text;
  }
}

TEST_F(StructuredOutputTest, CallsAreHeldToTheirSchemas) {
  const std::vector<TaggedSchema> tags = {
      {"<tool_call>\n{\"name\": \"describe\", \"arguments\": ", kPerson, "}\n</tool_call>"}};
  for (const TagUse use : {TagUse::kOne, TagUse::kOneOrMore, TagUse::kFree, TagUse::kInstead}) {
    SamplingParams params = Params(Kind::kJsonObject, "");
    params.structured_output =
        std::make_shared<const StructuredOutput>(TaggedOutput(tags, "<tool_call>", use).value());
    params.stop = {"</tool_call>"};
    params.temperature = 0.8f;
    params.seed = 3;
    // So that free text has a call in it.
    if (use == TagUse::kFree) {
      const auto tag = llm_->tokenizer().Encode("<tool", /*parse_special=*/false);
      for (const TokenId token : tag) params.logit_bias.push_back({token, 12.0f});
    }
    const RequestOutput output = Same(params);
    SCOPED_TRACE(output.text);
    ToolCallParser parser({.names = {"describe"}});
    std::string arguments;
    for (const ToolCallPiece& piece : parser.Push(output.text)) {
      if (piece.kind == ToolCallPiece::Kind::kArguments) arguments += piece.text;
    }
    if (use == TagUse::kOne || use == TagUse::kOneOrMore) {
      EXPECT_EQ(parser.calls(), 1);
      ASSERT_EQ(output.finish_reason, FinishReason::kStop);
    }
    if (output.finish_reason != FinishReason::kStop || parser.calls() == 0) continue;
    EXPECT_TRUE(llm_->Obeys({Kind::kJsonSchema, kPerson}, arguments)) << arguments;
  }
  EXPECT_FALSE(llm_->Obeys({Kind::kJsonSchema, kPerson}, R"({"name": "Ann", "age": "old"})"));
}

TEST_F(StructuredOutputTest, WithOtherControlsToo) {
  SamplingParams params = Params(Kind::kJsonSchema, kPerson);
  params.temperature = 1;
  params.top_k = 8;
  params.top_p = 0.9f;
  params.frequency_penalty = 0.5f;
  params.logprobs = 3;
  params.min_tokens = 100;  // the form ends sooner, and wins
  params.ignore_eos = true;
  const RequestOutput output = Same(params);
  EXPECT_TRUE(ParseJsonObject(output.text).ok()) << output.text;
  for (const AcceptanceRule rule : {AcceptanceRule::kRatio, AcceptanceRule::kBlock}) {
    params.acceptance = rule;
    const RequestOutput drawn = Answer(params, DraftMethod::Auto());
    EXPECT_TRUE(ParseJsonObject(drawn.text).ok()) << drawn.text;
  }
}

TEST_F(StructuredOutputTest, WhatCannotBeHadIsRefused) {
  const SamplingParams params = Params(Kind::kRegex, "(");
  const TextRequest request = {prompt_, params, {}};
  EXPECT_THAT(llm_->Check(request).error().message, HasSubstr("the regular expression"));
  EXPECT_FALSE(llm_->Generate(prompt_, params, {}, nullptr).ok());
}

}  // namespace
}  // namespace hunch

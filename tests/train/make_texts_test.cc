// Self-prompting and answering, with a model that says what the test dictates.
#include "train/make_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "support/fake_llm.h"
#include "support/files.h"

namespace hunch {
namespace {

using testing::HasSubstr;

constexpr VocabularyId kBytes = {3, 257};

class MakeTextsTest : public testing::Test {
 protected:
  MakeTextsTest() {
    options_.requests = 6;
    options_.at_once = 4;
    script_.answers["user: "] = " what is a pear? ";
    script_.answers["user: what is a pear?\n"] = "a fruit";
  }
  TokenData Data() { return TokenData::Open(dir_.Path("tokens"), kBytes, 1).value(); }
  Result<bool> Make(TokenData& data, const OnTexts& on_texts = {}) {
    FakeLlm llm(script_, &calls_);
    return MakeTexts(llm, options_, data, on_texts);
  }
  std::string Text(const TrainText& text) const { return DecodeTokens(tokenizer_, text.tokens); }

  TempDir dir_;
  FakeLlmScript script_;
  TextOptions options_;
  ByteTokenizer tokenizer_;
  std::vector<FakeLlm::Call> calls_;
};

TEST_F(MakeTextsTest, TheModelAsksAndAnswers) {
  TokenData data = Data();
  ASSERT_TRUE(Make(data).value());
  ASSERT_EQ(data.texts().size(), 6u);
  for (const auto& [request, text] : data.texts()) {
    EXPECT_EQ(Text(text), "user: what is a pear?\na fruit<end>");
    EXPECT_EQ(text.answer().size(), 8u);
    EXPECT_EQ(text.temperature, request % 2 == 0 ? 0.0f : 0.8f);
  }
  std::set<uint64_t> seeds;
  for (const FakeLlm::Call& call : calls_) {
    seeds.insert(call.params.seed);
    EXPECT_TRUE(call.speculation.method.none());
    if (call.prompt == "user: ") {
      EXPECT_EQ(call.params.temperature, 1);
    }
  }
  EXPECT_EQ(calls_.size(), 12u);
  EXPECT_EQ(seeds.size(), 12u);
}

TEST_F(MakeTextsTest, PromptsAreAnsweredInTurn) {
  options_.prompts = {"red", "green"};
  TokenData data = Data();
  ASSERT_TRUE(Make(data).value());
  EXPECT_EQ(Text(data.texts().at(0)), "user: red\none two three<end>");
  EXPECT_EQ(Text(data.texts().at(5)), "user: green\none two three<end>");
  EXPECT_EQ(calls_.size(), 6u);
}

TEST_F(MakeTextsTest, AQuestionThatIsNoneIsAskedAnewButNotForEver) {
  script_.answers["user: "] = "  \n ";
  TokenData data = Data();
  ASSERT_TRUE(Make(data).value());
  EXPECT_EQ(data.texts().size(), 6u);
  EXPECT_EQ(data.answer_tokens(), 0);
  EXPECT_EQ(calls_.size(), 6u * 8);
}

TEST_F(MakeTextsTest, GoesOnWhereItStopped) {
  TokenData data = Data();
  EXPECT_FALSE(Make(data, [](const TextProgress& progress) { return progress.done < 2; }).value());
  const size_t there = data.texts().size();
  EXPECT_GE(there, 2u);
  EXPECT_LT(there, 6u);
  std::set<uint64_t> seeds;
  for (const FakeLlm::Call& call : calls_) seeds.insert(call.params.seed);
  ASSERT_TRUE(Make(data).value());
  EXPECT_EQ(data.texts().size(), 6u);
  // The noise is a request's own: those that were cut off get the same again.
  for (const FakeLlm::Call& call : calls_) seeds.insert(call.params.seed);
  EXPECT_EQ(seeds.size(), 12u);
}

TEST_F(MakeTextsTest, SaysWhenNothingCanBeMade) {
  script_.start_error = Error{ErrorCode::kInvalidArgument, "no room"};
  TokenData data = Data();
  EXPECT_EQ(Make(data).error().message, "no room");
  script_.has_chat_template = false;
  EXPECT_FALSE(Make(data).ok());
}

TEST_F(MakeTextsTest, ARecipeIsEverythingThatTextsDependOn) {
  const uint64_t recipe = RecipeOf(options_, 1);
  options_.requests = 7;  // more of the same
  options_.at_once = 1;
  EXPECT_EQ(RecipeOf(options_, 1), recipe);
  EXPECT_NE(RecipeOf(options_, 2), recipe);
  options_.seed = 1;
  EXPECT_NE(RecipeOf(options_, 1), recipe);
  options_.seed = 0;
  options_.prompts = {"a"};
  EXPECT_NE(RecipeOf(options_, 1), recipe);
}

}  // namespace
}  // namespace hunch

// The public API: on a model whose answers are dictated, and on a tiny real one.
#include "session/api_llm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_llm.h"
#include "support/files.h"

namespace hunch::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ApiLlmTest : public ::testing::Test {
 protected:
  LLM Make(int max_num_seqs = 2) {
    hunch::SpeculativeConfig speculation;
    speculation.method = DraftMethod(DrafterKind::kNgram);
    return Wrap(std::make_unique<FakeLlm>(script_, &calls_), speculation, max_num_seqs);
  }

  FakeLlmScript script_;
  std::vector<FakeLlm::Call> calls_;
};

TEST_F(ApiLlmTest, GeneratesOneOutputForEachPromptInOrder) {
  script_.answers = {{"a", "first, which is long"}, {"b", "second"}, {"c", "3"}};
  SamplingParams params;
  params.seed = 7;
  const auto outputs = Make().Generate({"a", "b", "c"}, params);
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  ASSERT_EQ(outputs->size(), 3u);
  const RequestOutput& second = outputs.value()[1];
  EXPECT_EQ(second.prompt, "b");
  EXPECT_THAT(second.prompt_token_ids, ElementsAre('b'));
  ASSERT_EQ(second.outputs.size(), 1u);
  EXPECT_EQ(second.outputs[0].text, "second");
  EXPECT_EQ(second.outputs[0].token_ids.size(), 7u);
  EXPECT_EQ(second.outputs[0].guessed.size(), 7u);
  EXPECT_TRUE(second.outputs[0].logprobs.empty());
  EXPECT_EQ(second.outputs[0].finish_reason, "stop");
  EXPECT_EQ(second.metrics.prefill_seconds, 0.5);
  EXPECT_EQ(second.metrics.num_accepted_tokens, 3);
  EXPECT_EQ(second.details->output.speculation.method, DraftMethod(DrafterKind::kNgram));
  EXPECT_EQ(outputs.value()[0].outputs[0].text, "first, which is long");
  EXPECT_EQ(outputs.value()[2].outputs[0].text, "3");
  ASSERT_EQ(calls_.size(), 3u);
  EXPECT_EQ(calls_[2].params.seed, 7u);
}

TEST_F(ApiLlmTest, RunsNoMoreAtOnceThanItMay) {
  size_t most = 0, running = 0;
  script_.before_token = [&](size_t position) {
    if (position == 0) most = std::max(most, ++running);
    if (position == 13) --running;  // the end token of "one two three"
  };
  ASSERT_TRUE(Make(3).Generate(std::vector<std::string>(10, "x")).ok());
  EXPECT_EQ(calls_.size(), 10u);
  EXPECT_EQ(most, 3u);
}

TEST_F(ApiLlmTest, Chats) {
  script_.answers = {{"system: S\nuser: hi\n", "hello"}, {"user: bye\n", "ciao"}};
  LLM llm = Make();
  const auto output = llm.Chat({{"system", "S"}, {"user", "hi"}});
  ASSERT_TRUE(output.ok()) << output.error().message;
  EXPECT_EQ(output->prompt, "");
  EXPECT_EQ(output->prompt_token_ids.size(), 19u);
  EXPECT_EQ(output->outputs[0].text, "hello");
  const std::vector<Conversation> two = {{{"user", "bye"}}, {{"system", "S"}, {"user", "hi"}}};
  const auto outputs = llm.ChatAll(two);
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ(outputs.value()[0].outputs[0].text, "ciao");
  EXPECT_EQ(outputs.value()[1].outputs[0].text, "hello");
}

TEST_F(ApiLlmTest, StreamsWithThePromptsIndex) {
  script_.answers = {{"a", "first"}, {"b", "second"}};
  std::vector<std::string> streamed(2);
  size_t guessed = 0;
  const auto outputs = Make().Generate({"a", "b"}, {}, [&](const TextDelta& delta) {
    streamed[delta.index] += delta.text;
    guessed += delta.guessed ? 1 : 0;
    return true;
  });
  ASSERT_TRUE(outputs.ok());
  EXPECT_THAT(streamed, ElementsAre("first", "second"));
  EXPECT_EQ(guessed, 6u);
}

TEST_F(ApiLlmTest, OneAnswerCanBeEnded) {
  script_.answers = {{"a", "first"}, {"b", "second"}};
  const auto outputs = Make().Generate(
      {"a", "b"}, {}, [](const TextDelta& delta) { return delta.index == 1 || delta.text != "r"; });
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ(outputs.value()[0].outputs[0].text, "fir");
  EXPECT_EQ(outputs.value()[0].outputs[0].finish_reason, "cancelled");
  EXPECT_EQ(outputs.value()[1].outputs[0].text, "second");
}

TEST_F(ApiLlmTest, HasLogprobsWhenAskedFor) {
  SamplingParams params;
  params.logprobs = 2;
  params.max_tokens = 3;
  const auto outputs = Make().Generate({"a"}, params);
  ASSERT_TRUE(outputs.ok());
  const CompletionOutput& completion = outputs->front().outputs[0];
  EXPECT_EQ(completion.finish_reason, "length");
  ASSERT_EQ(completion.logprobs.size(), 3u);
  EXPECT_EQ(completion.logprobs[0].chosen.token, "o");
  EXPECT_EQ(completion.logprobs[0].chosen.token_id, 'o');
  EXPECT_EQ(completion.logprobs[0].chosen.logprob, -0.5f);
  EXPECT_EQ(completion.logprobs[0].top.size(), 2u);
}

TEST_F(ApiLlmTest, AWrongRequestBeginsNone) {
  script_.max_model_len = 5;
  const auto outputs = Make().Generate({"a", "much too long"});
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(outputs.error().message, "the prompt is too long");
  EXPECT_TRUE(calls_.empty());
  script_.has_chat_template = false;
  const auto chat = Make().Chat({{"user", "x"}});
  ASSERT_FALSE(chat.ok());
  EXPECT_EQ(chat.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(Make().Generate({})->size(), 0u);
}

TEST_F(ApiLlmTest, AnEngineThatRefusesIsAnError) {
  script_.start_error = hunch::Error{hunch::ErrorCode::kResourceExhausted, "no more"};
  LLM llm = Make();
  const auto outputs = llm.Generate({"a", "b"});
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(outputs.error().message, "no more");
}

TEST_F(ApiLlmTest, EncodesAndDecodes) {
  const LLM llm = Make();
  EXPECT_THAT(llm.Encode("hi").value(), ElementsAre('h', 'i'));
  EXPECT_EQ(llm.Decode({'h', 'i', 0xff}).value(), "hi\uFFFD");
  EXPECT_FALSE(llm.Decode({257}).ok());
  EXPECT_FALSE(llm.Decode({-1}).ok());
  EXPECT_EQ(llm.max_model_len(), 1000);
}

TEST(ApiLlm, LoadSaysWhatIsWrong) {
  EngineArgs args;
  args.model = GoldenPath("tiny/absent.gguf");
  EXPECT_EQ(LLM::Load(args).error().code, ErrorCode::kNotFound);
  args.model = GoldenPath("tiny/llama.gguf");
  const struct {
    void (*change)(EngineArgs&);
    const char* message;
  } cases[] = {
      {[](EngineArgs& a) { a.max_num_seqs = 0; }, "max_num_seqs is 0: it must be 1 to 64"},
      {[](EngineArgs& a) { a.max_model_len = -1; }, "must not be negative"},
      {[](EngineArgs& a) { a.kv_cache_dtype = "f8"; }, "f8"},
      {[](EngineArgs& a) { a.speculative_config.method = "magic"; }, "magic"},
      {[](EngineArgs& a) { a.speculative_config.num_speculative_tokens = 65; }, "1 to 64"},
      {[](EngineArgs& a) { a.speculative_config.method = "draft_model"; }, "needs \"model\""},
      {[](EngineArgs& a) { a.speculative_config.method = "eagle3"; }, "needs a head"},
      {[](EngineArgs& a) { a.speculative_config.head = a.model; }, "is a model, not a head"},
  };
  for (const auto& c : cases) {
    EngineArgs wrong = args;
    c.change(wrong);
    const Result<LLM> llm = LLM::Load(wrong);
    ASSERT_FALSE(llm.ok()) << c.message;
    EXPECT_EQ(llm.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(llm.error().message, HasSubstr(c.message));
  }
}

TEST(ApiLlm, ATextIsTheSameAloneInCompanyAndWithEveryMethod) {
  const std::vector<std::string> prompts = {"the and the and", "in the", "re re re re re"};
  SamplingParams params;
  params.temperature = 0.8f;
  params.seed = 3;
  params.max_tokens = 40;
  params.ignore_eos = true;
  EngineArgs args;
  args.model = GoldenPath("tiny/llama.gguf");
  args.threads = 2;
  std::vector<std::vector<int32_t>> expected;
  for (const char* method : {"none", "auto", "ngram+suffix"}) {
    args.speculative_config.method = method;
    auto llm = LLM::Load(args);
    ASSERT_TRUE(llm.ok()) << llm.error().message;
    const auto together = llm->Generate(prompts, params);
    ASSERT_TRUE(together.ok()) << together.error().message;
    for (size_t i = 0; i < prompts.size(); ++i) {
      const auto alone = llm->Generate({prompts[i]}, params);
      ASSERT_TRUE(alone.ok());
      const std::vector<int32_t>& tokens = alone->front().outputs[0].token_ids;
      EXPECT_EQ(tokens.size(), 40u);
      if (expected.size() == i) expected.push_back(tokens);
      EXPECT_EQ(tokens, expected[i]) << method;
      EXPECT_EQ(together.value()[i].outputs[0].token_ids, expected[i]) << method;
    }
  }
}

}  // namespace
}  // namespace hunch::api

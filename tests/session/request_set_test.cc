// Requests on one engine whose way of guessing is swapped between two steps: nobody is dropped, and
// every text is the one that the request gives without a swap.
#include "session/request_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_kv_target.h"
#include "support/fake_llm.h"

namespace hunch {
namespace {

using ::testing::ElementsAre;

class RequestSetTest : public ::testing::Test {
 protected:
  TextRequest Request(size_t prompt, const DraftMethod& method) {
    TextRequest request;
    request.prompt = fake_.Prompt(prompt);
    request.params.max_tokens = 40;
    request.params.temperature = 0.8f;
    request.params.seed = prompt;
    request.params.ignore_eos = true;
    request.speculation.method = method;
    request.speculation.num_speculative_tokens = 3;
    return request;
  }
  // The outputs in order. `on_text` is the first request's.
  std::vector<RequestOutput> Run(RequestSet& set, const std::vector<TextRequest>& requests,
                                 const OnText& on_text) {
    std::vector<RequestOutput> outputs(requests.size());
    for (size_t i = 0; i < requests.size(); ++i) {
      const auto on_done = [&outputs, i](RequestOutput output) { outputs[i] = std::move(output); };
      EXPECT_TRUE(set.Add(requests[i], parts_, i == 0 ? on_text : nullptr, on_done).ok());
    }
    while (set.Step()) {
    }
    return outputs;
  }
  static std::vector<std::string> Drafters(const RequestOutput& output) {
    std::vector<std::string> names;
    for (const DrafterStats& drafter : output.speculation.drafters) names.push_back(drafter.name);
    return names;
  }

  FakeTarget fake_{257, 3};
  FakeKvTarget target_{fake_, 64, {.max_rows = 64, .max_logit_rows = 32}};
  Engine engine_{target_,
                 {.vocab_size = 257, .max_model_len = 200, .kv_blocks = 64, .end_tokens = {256}}};
  ByteTokenizer tokenizer_;
  Grammars grammars_{GrammarVocabulary{}};
  SharedStores stores_;
  DraftParts parts_ = {{.model = std::make_shared<DraftSide>()}, tokenizer_, stores_, 200};
};

TEST_F(RequestSetTest, RunningRequestsGuessInAnotherWayFromTheNextStepOn) {
  std::vector<TextRequest> requests = {Request(20, DrafterKind::kNgram), Request(30, DraftMethod()),
                                       Request(25, DrafterKind::kNgram),
                                       Request(10, DraftMethod())};
  requests[2].own_speculation = true;
  requests[3].background = true;
  RequestSet plain_set(engine_, tokenizer_, grammars_);
  const auto before = Run(plain_set, requests, nullptr);
  const DraftSide* const old_side = parts_.drafts.model.get();
  RequestSet set(engine_, tokenizer_, grammars_);
  int calls = 0;
  const auto after = Run(set, requests, [&](const TextDelta&) {
    if (++calls == 12) {
      // In the middle of a step. The old side goes when its drafters have gone.
      std::weak_ptr<const DraftSide> old = parts_.drafts.model;
      parts_.drafts = {};
      set.Swap({.method = DrafterKind::kTokenRecycling, .num_speculative_tokens = 3}, parts_);
      EXPECT_FALSE(old.expired());
      EXPECT_EQ(old.lock().get(), old_side);
    }
    return true;
  });
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(after[i].token_ids, before[i].token_ids) << i;
    EXPECT_EQ(after[i].text, before[i].text) << i;
    EXPECT_EQ(after[i].finish_reason, FinishReason::kLength);
  }
  EXPECT_THAT(Drafters(after[0]), ElementsAre("ngram", "token_recycling"));
  EXPECT_THAT(Drafters(after[1]), ElementsAre("token_recycling"));
  EXPECT_THAT(Drafters(after[2]), ElementsAre("ngram")) << "it asked for its own way";
  EXPECT_THAT(Drafters(after[3]), ElementsAre()) << "an audit is plain";
  EXPECT_EQ(DraftMethodName(after[0].speculation.method), "token_recycling");
}

TEST_F(RequestSetTest, OnlyThoseThatRunAreSwapped) {
  RequestSet set(engine_, tokenizer_, grammars_);
  set.Swap({.method = DrafterKind::kTokenRecycling}, parts_);
  const auto outputs = Run(set, {Request(20, DrafterKind::kNgram)}, nullptr);
  EXPECT_THAT(Drafters(outputs[0]), ElementsAre("ngram"));
}

// A drafter that cannot be made (no draft model is there): the request goes on as it was.
TEST_F(RequestSetTest, ASwapThatCannotBeMadeLeavesTheRequestAsItWas) {
  parts_.drafts = {};
  const auto before = [&] {
    RequestSet set(engine_, tokenizer_, grammars_);
    return Run(set, {Request(20, DrafterKind::kNgram)}, nullptr);
  }();
  RequestSet set(engine_, tokenizer_, grammars_);
  int calls = 0;
  testing::internal::CaptureStderr();
  const auto after = Run(set, {Request(20, DrafterKind::kNgram)}, [&](const TextDelta&) {
    if (++calls == 5) set.Swap({.method = DrafterKind::kDraftModel}, parts_);
    return true;
  });
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("goes on guessing"));
  EXPECT_EQ(after[0].token_ids, before[0].token_ids);
  EXPECT_THAT(Drafters(after[0]), ElementsAre("ngram"));
}

TEST_F(RequestSetTest, GoesWithRequestsThatRun) {
  {
    RequestSet set(engine_, tokenizer_, grammars_);
    ASSERT_TRUE(set.Add(Request(20, DrafterKind::kNgram), parts_, nullptr, nullptr).ok());
    set.Step();
    EXPECT_LT(engine_.pool().free_blocks(), 64);
  }
  EXPECT_EQ(engine_.pool().free_blocks(), 64);
}

}  // namespace
}  // namespace hunch

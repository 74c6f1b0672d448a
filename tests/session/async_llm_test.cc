// The engine's thread and the queue before it: order, room, cancelling, draining; and that requests
// side by side say what each says alone.
#include "session/async_llm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "support/fake_llm.h"
#include "support/models.h"

namespace hunch {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

// A request, and what came of it.
class Asked {
 public:
  AsyncRequest Request(TextRequest request) {
    return {std::move(request),
            [this](const std::vector<TextDelta>& deltas) {
              for (const TextDelta& delta : deltas) text_ += delta.text;
              if (!begun_.exchange(true)) first_.set_value();
            },
            [this](Result<RequestOutput> result) { done_.set_value(std::move(result)); }};
  }
  void WaitForText() { first_.get_future().wait(); }
  Result<RequestOutput> Get() { return done_.get_future().get(); }
  // After Get.
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::atomic<bool> begun_ = false;
  std::promise<void> first_;
  std::promise<Result<RequestOutput>> done_;
};

// Holds the engine's thread in front of a token until it is opened.
class Gate {
 public:
  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }
  void Open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

class AsyncLlmTest : public ::testing::Test {
 protected:
  std::unique_ptr<AsyncLlm> Make(FakeLlmScript script, AsyncOptions options) {
    return std::make_unique<AsyncLlm>(std::make_unique<FakeLlm>(std::move(script), &calls_),
                                      options);
  }
  AsyncLlm::Ticket SubmitOne(AsyncLlm& llm, Asked& asked, std::string prompt = "a") {
    std::vector<AsyncRequest> requests;
    requests.push_back(asked.Request({.prompt = {prompt.begin(), prompt.end()}}));
    return llm.Submit(std::move(requests)).value()[0];
  }
  std::string SubmitError(AsyncLlm& llm, Asked& asked, size_t copies) {
    std::vector<AsyncRequest> requests;
    for (size_t i = 0; i < copies; ++i) requests.push_back(asked.Request({.prompt = {'a'}}));
    const auto tickets = llm.Submit(std::move(requests));
    return tickets.ok() ? "" : tickets.error().message;
  }

  std::vector<FakeLlm::Call> calls_;
};

TEST_F(AsyncLlmTest, EveryoneGetsTheirOwnText) {
  FakeLlmScript script;
  script.answers = {{"a", "alpha"}, {"b", "beta"}, {"c", "gamma ray"}};
  const auto llm = Make(script, {.max_num_seqs = 2, .max_queued = 8});
  std::array<Asked, 3> asked;
  for (int i = 0; i < 3; ++i) SubmitOne(*llm, asked[i], std::string(1, static_cast<char>('a' + i)));
  const std::array<std::string, 3> texts = {"alpha", "beta", "gamma ray"};
  for (int i = 0; i < 3; ++i) {
    const auto output = asked[i].Get();
    ASSERT_TRUE(output.ok());
    EXPECT_EQ(output->text, texts[i]);
    EXPECT_EQ(asked[i].text(), texts[i]);
    EXPECT_EQ(output->finish_reason, FinishReason::kStop);
  }
}

TEST_F(AsyncLlmTest, NoMoreRunAtOnceThanAllowedAndTheRestWaitInOrder) {
  Gate gate;
  FakeLlmScript script;
  script.before_token = [&](size_t) { gate.Wait(); };
  const auto llm = Make(script, {.max_num_seqs = 2, .max_queued = 2});
  std::array<Asked, 4> asked;
  // At once: the first one's step holds the thread that would let in a second.
  std::vector<AsyncRequest> requests;
  for (Asked& one : asked) requests.push_back(one.Request({.prompt = {'a'}}));
  ASSERT_TRUE(llm->Submit(std::move(requests)).ok());
  while (llm->load().running < 2) std::this_thread::yield();
  EXPECT_EQ(llm->load().waiting, 2);
  Asked more;
  EXPECT_THAT(SubmitError(*llm, more, 1), HasSubstr("try again later"));
  gate.Open();
  for (Asked& one : asked) EXPECT_TRUE(one.Get().ok());
  while (llm->load().running > 0) std::this_thread::yield();
  SubmitOne(*llm, more);
  EXPECT_TRUE(more.Get().ok());
}

TEST_F(AsyncLlmTest, ChoicesAreTakenTogetherOrNotAtAll) {
  const auto llm = Make({}, {.max_num_seqs = 2, .max_queued = 1});
  Asked asked;
  EXPECT_THAT(SubmitError(*llm, asked, 4), HasSubstr("at most 3 fit"));
  EXPECT_EQ(llm->load().running + llm->load().waiting, 0);
  EXPECT_TRUE(calls_.empty());
}

TEST_F(AsyncLlmTest, ACancelledRequestEndsWithWhatThereIs) {
  Gate gate;
  FakeLlmScript script;
  script.before_token = [&](size_t position) {
    if (position == 3) gate.Wait();
  };
  const auto llm = Make(script, {.max_num_seqs = 1, .max_queued = 1});
  Asked running, waiting;
  const auto first = SubmitOne(*llm, running);
  const auto second = SubmitOne(*llm, waiting);
  running.WaitForText();
  llm->Cancel(second);
  llm->Cancel(first);
  gate.Open();
  const auto output = running.Get();
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->finish_reason, FinishReason::kCancelled);
  // The step under way gives its token, and no other comes.
  EXPECT_LE(output->token_ids.size(), 4u);
  const auto never_ran = waiting.Get();
  ASSERT_TRUE(never_ran.ok());
  EXPECT_EQ(never_ran->finish_reason, FinishReason::kCancelled);
  EXPECT_TRUE(never_ran->token_ids.empty());
  EXPECT_EQ(calls_.size(), 1u);
  llm->Cancel(first);  // over already: nothing happens
}

TEST_F(AsyncLlmTest, AnErrorOfTheStartIsHandedOver) {
  FakeLlmScript script;
  script.start_error = Error{ErrorCode::kNotFound, "no such table"};
  const auto llm = Make(script, {});
  Asked asked;
  SubmitOne(*llm, asked);
  EXPECT_EQ(asked.Get().error().message, "no such table");
  EXPECT_TRUE(llm->Drain(10s));
}

TEST_F(AsyncLlmTest, WhatIsWrongWithARequestIsSaidAtOnce) {
  FakeLlmScript script;
  script.max_model_len = 1;
  const auto llm = Make(script, {});
  Asked asked;
  EXPECT_THAT(SubmitError(*llm, asked, 1), HasSubstr("too long"));
}

TEST_F(AsyncLlmTest, DrainingEndsWhatRunsAndTakesNothingNew) {
  const auto llm = Make({}, {.max_num_seqs = 1, .max_queued = 4});
  std::array<Asked, 3> asked;
  for (Asked& one : asked) SubmitOne(*llm, one);
  EXPECT_TRUE(llm->Drain(10s));
  for (Asked& one : asked) EXPECT_EQ(one.Get()->text, "one two three");
  Asked late;
  EXPECT_THAT(SubmitError(*llm, late, 1), HasSubstr("shutting down"));
}

TEST_F(AsyncLlmTest, StoppingCancelsEverything) {
  Gate gate;
  FakeLlmScript script;
  script.before_token = [&](size_t) { gate.Wait(); };
  const auto llm = Make(script, {.max_num_seqs = 1, .max_queued = 4});
  std::array<Asked, 2> asked;
  for (Asked& one : asked) SubmitOne(*llm, one);
  EXPECT_FALSE(llm->Drain(1ms));
  std::thread opener([&] {
    std::this_thread::sleep_for(20ms);
    gate.Open();
  });
  llm->Stop();
  opener.join();
  for (Asked& one : asked) EXPECT_EQ(one.Get()->finish_reason, FinishReason::kCancelled);
}

TEST_F(AsyncLlmTest, ASwapIsForThoseThatWaitAndComeAndDropsNobody) {
  Gate gate;
  FakeLlmScript script;
  script.before_token = [&](size_t) { gate.Wait(); };
  const auto llm = Make(script, {.max_num_seqs = 1, .max_queued = 4});
  std::array<Asked, 3> asked;
  SubmitOne(*llm, asked[0]);
  while (llm->load().running == 0) std::this_thread::yield();
  std::vector<AsyncRequest> requests;
  for (const bool own : {false, true}) {
    TextRequest request;
    request.prompt = {'b'};
    request.speculation = {.method = DrafterKind::kNgram, .cache_salt = "s", .suffix_store = "f"};
    request.own_speculation = own;
    requests.push_back(asked[own ? 2 : 1].Request(std::move(request)));
  }
  ASSERT_TRUE(llm->Submit(std::move(requests)).ok());
  EXPECT_FALSE(llm->swapped_speculation());
  std::thread swapper([&] {
    EXPECT_TRUE(llm->SwapSpeculation({.method = DraftMethod::Auto(), .suffix_store = "g"}).ok());
  });
  std::this_thread::sleep_for(100ms);
  gate.Open();
  swapper.join();
  for (Asked& one : asked) EXPECT_EQ(one.Get()->text, "one two three");
  EXPECT_EQ(llm->swapped_speculation()->method, DraftMethod::Auto());
  llm->Stop();
  ASSERT_EQ(calls_.size(), 4u);
  EXPECT_TRUE(calls_[1].swap);
  EXPECT_EQ(calls_[2].speculation.method, DraftMethod::Auto());
  EXPECT_EQ(calls_[2].speculation.cache_salt, "s") << "a request keeps its salt";
  EXPECT_EQ(calls_[2].speculation.suffix_store, "") << "the file is not for it";
  EXPECT_EQ(calls_[3].speculation.method, DraftMethod(DrafterKind::kNgram));
}

TEST_F(AsyncLlmTest, ASwapThatFailsChangesNothing) {
  FakeLlmScript script;
  script.swap_error = Error{ErrorCode::kNotFound, "no such model"};
  const auto llm = Make(script, {});
  EXPECT_EQ(llm->SwapSpeculation({}).error().message, "no such model");
  EXPECT_FALSE(llm->swapped_speculation());
  llm->Drain(10s);
  EXPECT_TRUE(calls_.empty());
}

TEST_F(AsyncLlmTest, WhileDrainingNothingIsSwapped) {
  const auto llm = Make({}, {});
  llm->Drain(10s);
  EXPECT_THAT(llm->SwapSpeculation({}).error().message, HasSubstr("shutting down"));
}

TEST_F(AsyncLlmTest, AStepThatHangsIsSeen) {
  Gate gate;
  FakeLlmScript script;
  script.before_token = [&](size_t position) {
    if (position == 2) gate.Wait();
  };
  std::promise<void> barked;
  const auto llm =
      Make(script, {.watchdog = {.limit = 30ms, .on_stuck = [&] { barked.set_value(); }}});
  std::this_thread::sleep_for(60ms);
  EXPECT_FALSE(llm->stuck()) << "a parked thread is not stuck";
  Asked asked;
  SubmitOne(*llm, asked);
  barked.get_future().wait();
  EXPECT_TRUE(llm->stuck());
  gate.Open();
  EXPECT_TRUE(asked.Get().ok());
}

TEST_F(AsyncLlmTest, FinishedRequestsAreAuditedAndADifferenceIsCounted) {
  FakeLlmScript script;
  script.faults = {{"ngram", 3}};
  const auto llm = Make(script, {.audit_rate = 1});
  const auto ask = [&](const DraftMethod& method) {
    Asked asked;
    TextRequest request;
    request.prompt = {'a'};
    request.speculation.method = method;
    std::vector<AsyncRequest> requests;
    requests.push_back(asked.Request(std::move(request)));
    ASSERT_TRUE(llm->Submit(std::move(requests)).ok());
    EXPECT_TRUE(asked.Get().ok());
  };
  ask(DraftMethod::Auto());
  while (llm->stats().audits.checked < 1) std::this_thread::yield();
  EXPECT_EQ(llm->stats().audits.mismatched, 0);
  ask(DrafterKind::kNgram);
  while (llm->stats().audits.checked < 2) std::this_thread::yield();
  EXPECT_EQ(llm->stats().audits.mismatched, 1);
  EXPECT_EQ(llm->stats().finished[static_cast<size_t>(FinishReason::kStop)], 2)
      << "an audit is nobody's request";
}

TEST_F(AsyncLlmTest, AnAuditHoldsUpNoStop) {
  Gate gate;
  std::atomic<int> tokens = 0;
  FakeLlmScript script;
  script.answer = "abc";
  script.before_token = [&](size_t) {
    if (++tokens > 5) gate.Wait();  // the audit's second token
  };
  const auto llm = Make(script, {.audit_rate = 1});
  Asked asked;
  SubmitOne(*llm, asked);
  EXPECT_TRUE(asked.Get().ok());
  while (tokens < 6) std::this_thread::yield();
  EXPECT_EQ(llm->load().running, 0);
  EXPECT_TRUE(llm->Drain(0ms)) << "nobody waits for an audit";
  gate.Open();
  llm->Stop();
  EXPECT_EQ(llm->stats().audits.checked, 0);
  EXPECT_EQ(llm->stats().audits.dropped, 1);
}

TEST(AsyncSmolLM2, RequestsSideBySideSayWhatEachSaysAlone) {
  HUNCH_REQUIRE_MODEL(path, "smollm2");
  auto loaded = Llm::Load({.model = path, .threads = 2, .max_model_len = 512, .max_num_seqs = 4});
  ASSERT_TRUE(loaded.ok());
  const std::vector<std::string> questions = {"Count from one to thirty.", "Name five rivers.",
                                              "Say hello ten times.",      "Why is the sky blue?",
                                              "Write a short poem.",       "Count to ten."};
  std::vector<TextRequest> requests;
  for (size_t i = 0; i < questions.size(); ++i) {
    TextRequest request;
    request.prompt = (*loaded)->EncodeChat({{{"role", "user"}, {"content", questions[i]}}}).value();
    request.params.max_tokens = 40;
    request.params.temperature = i % 2 == 0 ? 0 : 0.8f;
    request.params.seed = i;
    request.params.logprobs = i == 1 ? 2 : -1;
    request.speculation.method = i == 3 ? DraftMethod() : DraftMethod::Auto();
    requests.push_back(request);
  }
  std::vector<RequestOutput> alone;
  for (const TextRequest& request : requests) {
    alone.push_back(
        (*loaded)->Generate(request.prompt, request.params, request.speculation, nullptr).value());
  }
  AsyncLlm llm(std::move(*loaded), {.max_num_seqs = 4, .max_queued = 8, .audit_rate = 1});
  std::vector<Asked> asked(requests.size() + 1);
  std::vector<AsyncRequest> submitted;
  for (size_t i = 0; i < requests.size(); ++i) {
    submitted.push_back(asked[i].Request(requests[i]));
  }
  // One more that leaves in the middle.
  submitted.push_back(asked.back().Request(requests[0]));
  const auto tickets = llm.Submit(std::move(submitted));
  ASSERT_TRUE(tickets.ok());
  llm.Cancel(tickets->back());
  // They guess in another way from here on, but for those that would not be told.
  EXPECT_TRUE(llm.SwapSpeculation({.method = DraftMethod(DrafterKind::kDraftModel),
                                   .model = path,
                                   .num_speculative_tokens = 3})
                  .ok());
  int64_t accepted = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto output = asked[i].Get();
    ASSERT_TRUE(output.ok());
    EXPECT_EQ(output->token_ids, alone[i].token_ids) << questions[i];
    EXPECT_EQ(output->text, alone[i].text);
    EXPECT_EQ(asked[i].text(), alone[i].text);
    accepted += output->speculation.accepted_tokens;
    if (i != 1) continue;
    ASSERT_EQ(output->logprobs.size(), alone[i].logprobs.size());
    for (size_t t = 0; t < output->logprobs.size(); ++t) {
      EXPECT_EQ(output->logprobs[t].logprob, alone[i].logprobs[t].logprob);
    }
  }
  EXPECT_GT(accepted, 0);
  while (llm.stats().audits.checked == 0) std::this_thread::sleep_for(5ms);
  EXPECT_EQ(llm.stats().audits.mismatched, 0);
  EXPECT_EQ(asked.back().Get()->finish_reason, FinishReason::kCancelled);
}

}  // namespace
}  // namespace hunch

// /v1/speculation on a model whose text is dictated: who may change what, and for whom it holds.
#include "server/speculation_route.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "server/api.h"
#include "support/fake_llm.h"
#include "support/fake_reply.h"

namespace hunch {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;
using namespace std::chrono_literals;

class SpeculationRouteTest : public ::testing::Test {
 protected:
  std::shared_ptr<FakeReply> Ask(const std::string& method, const std::string& path,
                                 const std::string& body = "") {
    if (!api_) {
      llm_.emplace(std::make_unique<FakeLlm>(script_, &calls_),
                   AsyncOptions{.max_num_seqs = 2, .max_queued = 4});
      api_.emplace(*llm_, options_);
    }
    auto reply = std::make_shared<FakeReply>();
    api_->Handle({method, path, "Bearer " + options_.api_key, body}, reply);
    reply->Pump();
    return reply;
  }
  std::shared_ptr<FakeReply> Get() { return Ask("GET", "/v1/speculation"); }
  std::shared_ptr<FakeReply> Post(const std::string& body) {
    return Ask("POST", "/v1/speculation", body);
  }

  FakeLlmScript script_;
  ApiOptions options_ = {.model_names = {"fake"},
                         .api_key = "secret",
                         .speculation = {.method = DraftMethod::Auto()},
                         .fingerprint = "fp"};
  std::vector<FakeLlm::Call> calls_;
  std::optional<AsyncLlm> llm_;
  std::optional<Api> api_;
};

TEST_F(SpeculationRouteTest, SaysHowTheServerGuessesAndWhatCameOfIt) {
  script_.totals.draft_tokens = 8;
  script_.totals.accepted_tokens = 6;
  Ask("POST", "/v1/completions", R"({"prompt": "Hi"})");
  llm_->Drain(10s);
  const Json state = Get()->json();
  EXPECT_EQ(state["object"], "speculation");
  EXPECT_EQ(state["enabled"], true);
  EXPECT_EQ(state["config"]["method"], "auto");
  EXPECT_EQ(state["acceptance_rate"], 0.75);
  ASSERT_EQ(state["drafters"].size(), 1u);
  EXPECT_EQ(state["drafters"][0]["name"], "fake");
}

TEST_F(SpeculationRouteTest, TellsWhichHeadIsThere) {
  EXPECT_EQ(Get()->json()["head"], nullptr);
  script_.head_method = DrafterKind::kEagle3;
  api_.reset();
  EXPECT_EQ(Get()->json()["head"], "eagle3");
}

TEST_F(SpeculationRouteTest, SaysWhatWasLearned) {
  EXPECT_EQ(Get()->json()["learning"], nullptr);
  api_.reset();
  options_.learning = [] {
    return LearnStats{.phase = LearnPhase::kOnTrial,
                      .head = "f/head-1.gguf",
                      .rounds = 3,
                      .swaps = 2,
                      .replayed_after = 2.25};
  };
  const Json learning = Get()->json()["learning"];
  EXPECT_EQ(learning["phase"], "on trial");
  EXPECT_EQ(learning["head"], "f/head-1.gguf");
  EXPECT_EQ(learning["rounds"], 3);
  EXPECT_EQ(learning["swaps"], 2);
  EXPECT_EQ(learning["replayed_after"], 2.25);
  EXPECT_EQ(learning["replayed_before"], nullptr);
}

TEST_F(SpeculationRouteTest, BeforeAnyGuessThereIsNoRate) {
  EXPECT_EQ(Get()->json()["acceptance_rate"], nullptr);
}

TEST_F(SpeculationRouteTest, APostChangesItForTheRequestsThatCome) {
  const auto reply = Post(R"({"method": "suffix+ngram", "num_speculative_tokens": 3})");
  ASSERT_EQ(reply->sent->status, 200) << reply->sent->body;
  EXPECT_EQ(reply->json()["config"]["method"], "suffix+ngram");
  EXPECT_EQ(Get()->json()["config"]["num_speculative_tokens"], 3);
  EXPECT_FALSE(Get()->json()["config"].contains("head"));
  Ask("POST", "/v1/completions", R"({"prompt": "Hi"})");
  Ask("POST", "/v1/completions", R"({"prompt": "Hi", "speculation": {"method": "lookahead"}})");
  ASSERT_EQ(Post(R"({"method": "eagle3", "head": "h.gguf"})")->sent->status, 200);
  EXPECT_EQ(Get()->json()["config"]["head"], "h.gguf");
  ASSERT_EQ(Post(R"({"method": "none"})")->sent->status, 200);
  EXPECT_EQ(Get()->json()["enabled"], false);
  llm_->Stop();
  ASSERT_EQ(calls_.size(), 5u);
  EXPECT_TRUE(calls_[0].swap);
  EXPECT_EQ(calls_[3].speculation.head, "h.gguf");
  EXPECT_EQ(DraftMethodName(calls_[1].speculation.method), "suffix+ngram");
  EXPECT_EQ(DraftMethodName(calls_[2].speculation.method), "lookahead");
}

TEST_F(SpeculationRouteTest, WhatIsWrongIsSaidAndChangesNothing) {
  for (const auto& [body, message] :
       {std::pair("", "bad JSON"), std::pair("[]", "an object"),
        std::pair(R"({"method": "oracle"})", "unknown speculation method"),
        std::pair(R"({"method": "draft_model"})", "needs"),
        std::pair(R"({"nodes": 3})", "unknown key")}) {
    const auto reply = Post(body);
    EXPECT_EQ(reply->sent->status, 400) << body;
    EXPECT_THAT(reply->sent->body, HasSubstr(message)) << body;
  }
  EXPECT_EQ(Get()->json()["config"]["method"], "auto");
  EXPECT_TRUE(calls_.empty());
}

TEST_F(SpeculationRouteTest, AModelThatDoesNotFitIsTheServersTrouble) {
  script_.swap_error = Error{ErrorCode::kResourceExhausted, "400 MB are needed"};
  const auto reply = Post(R"({"model": "d.gguf"})");
  EXPECT_EQ(reply->sent->status, 503);
  EXPECT_EQ(reply->json()["error"]["code"], "no_memory");
}

TEST_F(SpeculationRouteTest, NobodyChangesItWithoutAKey) {
  EXPECT_EQ(Get()->sent->status, 200);
  auto reply = std::make_shared<FakeReply>();
  api_->Handle({"POST", "/v1/speculation", "Bearer wrong", "{}"}, reply);
  EXPECT_EQ(reply->sent->status, 401);
  api_.reset();
  options_.api_key = "";
  EXPECT_EQ(Post("{}")->sent->status, 403) << "there is none";
  EXPECT_EQ(Get()->sent->status, 200);
  EXPECT_TRUE(calls_.empty());
}

TEST_F(SpeculationRouteTest, TakesGetAndPostOnly) {
  const auto reply = Ask("DELETE", "/v1/speculation");
  EXPECT_EQ(reply->sent->status, 405);
  EXPECT_THAT(reply->sent->headers, Contains(Pair("Allow", "GET, HEAD, POST")));
}

TEST_F(SpeculationRouteTest, HealthTellsAStepThatHangs) {
  std::mutex gate;
  std::unique_lock closed(gate);
  script_.before_token = [&](size_t) { std::lock_guard wait(gate); };
  std::promise<void> barked;
  llm_.emplace(std::make_unique<FakeLlm>(script_, &calls_),
               AsyncOptions{.watchdog = {.limit = 20ms, .on_stuck = [&] { barked.set_value(); }}});
  api_.emplace(*llm_, options_);
  EXPECT_EQ(Ask("GET", "/health")->sent->status, 200);
  auto asked = std::make_shared<FakeReply>();
  api_->Handle({"POST", "/v1/completions", "Bearer secret", R"({"prompt": "Hi"})"}, asked);
  asked->PumpOne();
  barked.get_future().wait();
  const auto health = Ask("GET", "/health");
  EXPECT_EQ(health->sent->status, 503);
  EXPECT_EQ(health->json()["error"]["code"], "stuck");
  closed.unlock();
  asked->Pump();
  EXPECT_EQ(asked->sent->status, 200);
}

}  // namespace
}  // namespace hunch

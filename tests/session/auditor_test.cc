// Which requests are audited, what is compared, and that a difference is counted.
#include "session/auditor.h"

#include <gtest/gtest.h>

#include "support/fake_llm.h"

namespace hunch {
namespace {

class AuditorTest : public ::testing::Test {
 protected:
  static TextRequest Request(const std::string& prompt = "a") {
    TextRequest request;
    request.prompt = {prompt.begin(), prompt.end()};
    request.speculation.method = DraftMethod::Auto();
    request.params.logprobs = 3;
    request.id = "cmpl-1";
    return request;
  }
  // Runs it, and audits it if it is drawn.
  void Serve(Auditor& auditor, const TextRequest& request) {
    auto copy = auditor.Draw(request);
    const auto output =
        llm_.Generate(request.prompt, request.params, request.speculation, nullptr).value();
    if (copy) auditor.Add(std::move(copy), output);
  }
  void RunAudits(Auditor& auditor) {
    while (auditor.busy()) {
      auditor.StartNext();
      llm_.Step();
    }
  }

  FakeLlmScript script_;
  std::vector<FakeLlm::Call> calls_;
  FakeLlm llm_{script_, &calls_};
};

TEST_F(AuditorTest, EqualTokensAreNoMismatch) {
  Auditor auditor(llm_, 1);
  Serve(auditor, Request());
  RunAudits(auditor);
  EXPECT_EQ(auditor.counts().checked, 1);
  EXPECT_EQ(auditor.counts().mismatched, 0);
  ASSERT_EQ(calls_.size(), 2u);
  EXPECT_TRUE(calls_[1].speculation.method.none());
  EXPECT_EQ(calls_[1].params.logprobs, -1);
  EXPECT_EQ(calls_[1].prompt, calls_[0].prompt);
}

TEST_F(AuditorTest, ADrafterThatChangedATokenIsFoundOut) {
  script_.faults = {{"auto", 5}};
  FakeLlm faulty(script_, &calls_);
  Auditor auditor(faulty, 1);
  const TextRequest request = Request();
  auto copy = auditor.Draw(request);
  const auto output =
      faulty.Generate(request.prompt, request.params, request.speculation, nullptr).value();
  auditor.Add(std::move(copy), output);
  testing::internal::CaptureStderr();
  while (auditor.busy()) {
    auditor.StartNext();
    faulty.Step();
  }
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(auditor.counts().checked, 1);
  EXPECT_EQ(auditor.counts().mismatched, 1);
}

TEST_F(AuditorTest, AnAnswerThatIsTooShortIsAMismatch) {
  Auditor auditor(llm_, 1);
  auto copy = auditor.Draw(Request());
  RequestOutput cut = llm_.Generate(Request().prompt, {}, {}, nullptr).value();
  cut.token_ids.pop_back();
  auditor.Add(std::move(copy), cut);
  RunAudits(auditor);
  EXPECT_EQ(auditor.counts().mismatched, 1);
}

TEST_F(AuditorTest, TheRateIsThePartThatIsDrawn) {
  Auditor none(llm_, 0), some(llm_, 0.25), all(llm_, 1);
  int drawn = 0;
  for (int i = 0; i < 4000; ++i) {
    EXPECT_EQ(none.Draw(Request()), nullptr);
    EXPECT_NE(all.Draw(Request()), nullptr);
    drawn += some.Draw(Request()) != nullptr;
  }
  EXPECT_NEAR(drawn, 1000, 150);
}

TEST_F(AuditorTest, OnlyTheRuleThatPromisesOneTextIsAudited) {
  Auditor auditor(llm_, 1);
  TextRequest request = Request();
  request.params.acceptance = AcceptanceRule::kRatio;
  EXPECT_EQ(auditor.Draw(request), nullptr);
  request.params.acceptance = AcceptanceRule::kCoupled;
  const auto copy = auditor.Draw(request);
  ASSERT_NE(copy, nullptr);
  EXPECT_TRUE(copy->background);
  EXPECT_EQ(copy->id, "cmpl-1");
}

TEST_F(AuditorTest, WhatFindsNoRoomIsDroppedAndWhatWasCancelledIsNotAudited) {
  Auditor auditor(llm_, 1);
  for (size_t i = 0; i < Auditor::kMostWaiting + 3; ++i) Serve(auditor, Request());
  EXPECT_EQ(auditor.counts().dropped, 3);
  RequestOutput cancelled;
  cancelled.finish_reason = FinishReason::kCancelled;
  auditor.Add(auditor.Draw(Request()), cancelled);
  EXPECT_EQ(auditor.counts().dropped, 3);
  auditor.StartNext();
  EXPECT_TRUE(auditor.running());
  auditor.Stop();
  llm_.Step();
  EXPECT_FALSE(auditor.busy());
  EXPECT_EQ(auditor.counts().dropped, 3 + static_cast<int64_t>(Auditor::kMostWaiting));
  EXPECT_EQ(auditor.counts().checked, 0);
}

}  // namespace
}  // namespace hunch

// Logprobs of prompts: those of the target's rows, whatever the pass that reads them is like, and
// no text changes for them.
#include "engine/prompt_logprobs.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "support/engine_fixture.h"

namespace hunch {
namespace {

class PromptLogprobsTest : public EngineFixture {
 protected:
  static constexpr int kTop = 3;

  // Adds a request that asks for them, into described_.
  Engine::RequestId Ask(Engine& engine, EngineRequest request) {
    request.params.prompt_logprobs = kTop;
    described_.emplace_back();
    called_.push_back(0);
    request.prompt_watch = [this, i = described_.size() - 1](std::vector<TokenChoice> choices) {
      described_[i] = std::move(choices);
      ++called_[i];
    };
    return engine.Submit(std::move(request)).value();
  }
  void ExpectRight(size_t index, const std::vector<TokenId>& prompt) {
    const std::vector<TokenChoice>& choices = described_[index];
    EXPECT_EQ(called_[index], 1);
    ASSERT_EQ(choices.size(), prompt.size());
    EXPECT_EQ(choices[0].token, prompt[0]);
    EXPECT_TRUE(std::isnan(choices[0].logprob));
    EXPECT_TRUE(choices[0].top.empty());
    std::vector<float> row(kVocab);
    for (size_t i = 1; i < prompt.size(); ++i) {
      fake_.Row(std::span(prompt).first(i), row);
      TokenChoice want;
      want.token = prompt[i];
      Logprobs().Fill(row.data(), kVocab, kTop, want);
      ASSERT_EQ(choices[i].token, want.token) << i;
      ASSERT_EQ(choices[i].logprob, want.logprob) << i;
      ASSERT_EQ(choices[i].top.size(), want.top.size());
      for (size_t k = 0; k < want.top.size(); ++k) {
        ASSERT_EQ(choices[i].top[k].token, want.top[k].token) << i;
        ASSERT_EQ(choices[i].top[k].logprob, want.top[k].logprob) << i;
      }
    }
  }

  std::vector<std::vector<TokenChoice>> described_;
  std::vector<int> called_;
};

TEST_F(PromptLogprobsTest, AreThoseOfTheRowsBefore) {
  // Around the rows that a pass reads of such a prompt, and the logits rows that it has.
  for (const size_t length : {1, 2, 11, 12, 13, 16, 17, 60}) {
    Engine engine = MakeEngine(16, 128);
    const EngineResult result = Finish(engine, Ask(engine, MakeRequest(length, 5)));
    ExpectRight(described_.size() - 1, MakeRequest(length, 5).prompt);
    EXPECT_EQ(result.tokens, Plain(MakeRequest(length, 5))) << length;
  }
}

TEST_F(PromptLogprobsTest, BesideOthersThatReadAndGuess) {
  const std::vector<TokenId> whole = Plain(MakeRequest(20, 60));
  Engine engine = MakeEngine(64, 256);
  const auto guesses = engine.Submit(MakeRequest(20, 60, Right(whole), 8)).value();
  engine.Step();
  constexpr std::array<size_t, 3> kLengths = {50, 3, 33};
  std::vector<Engine::RequestId> ids;
  for (const size_t length : kLengths) ids.push_back(Ask(engine, MakeRequest(length, 8)));
  EXPECT_EQ(Finish(engine, guesses).tokens, whole);
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(Finish(engine, ids[i]).tokens, Plain(MakeRequest(kLengths[i], 8)));
    ExpectRight(i, MakeRequest(kLengths[i], 8).prompt);
  }
}

TEST_F(PromptLogprobsTest, APrefixThatIsInTheCacheIsReadAgain) {
  Engine engine = MakeEngine(64, 128, /*share_prefixes=*/true);
  Finish(engine, engine.Submit(MakeRequest(64, 4)).value());
  const EngineResult result = Finish(engine, Ask(engine, MakeRequest(64, 4)));
  EXPECT_EQ(result.stats.cached_tokens, 0);
  ExpectRight(0, MakeRequest(64, 4).prompt);
  // Others find what it read.
  EXPECT_GT(Finish(engine, engine.Submit(MakeRequest(64, 4)).value()).stats.cached_tokens, 0);
}

TEST_F(PromptLogprobsTest, APreemptedRequestGivesThemOnce) {
  // Room for one of the two at their full length.
  Engine engine = MakeEngine(8, 128);
  const auto first = engine.Submit(MakeRequest(40, 80)).value();
  const auto second = Ask(engine, MakeRequest(60, 20));
  EXPECT_EQ(Finish(engine, first).tokens, Plain(MakeRequest(40, 80)));
  EXPECT_EQ(Finish(engine, second).tokens, Plain(MakeRequest(60, 20)));
  EXPECT_GT(engine.totals().preemptions, 0);
  ExpectRight(0, MakeRequest(60, 20).prompt);
}

TEST_F(PromptLogprobsTest, NobodyNeedsToTakeThem) {
  Engine engine = MakeEngine(16, 128);
  EngineRequest request = MakeRequest(20, 5);
  request.params.prompt_logprobs = 0;
  EXPECT_EQ(Finish(engine, engine.Submit(std::move(request)).value()).tokens,
            Plain(MakeRequest(20, 5)));
}

}  // namespace
}  // namespace hunch

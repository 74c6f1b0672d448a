// How a request under a constraint ends, and that what a constraint forces is guessed. That
// guessing changes no text under one is the lossless suite's.
#include <gtest/gtest.h>

#include "draft/forced.h"
#include "draft/ngram.h"
#include "engine/engine.h"
#include "support/fake_constraint.h"
#include "support/fake_drafters.h"
#include "support/fake_kv_target.h"

namespace hunch {
namespace {

constexpr int kVocab = 96;
constexpr TokenId kEnd = kVocab - 1;
constexpr ForwardLimits kLimits = {.max_rows = 32, .max_logit_rows = 12};

class EngineConstraint : public testing::TestWithParam<AcceptanceRule> {
 protected:
  EngineRequest MakeRequest(ConstraintRule rule, bool guess) {
    EngineRequest request;
    request.prompt = fake_.Prompt(20);
    request.params.max_tokens = 40;
    request.params.temperature = 0.8f;
    request.params.acceptance = GetParam();
    request.constraint = std::make_unique<FakeConstraint>(kVocab, rule);
    if (!guess) return request;
    request.drafters.push_back(
        std::make_unique<ForcedDrafter>(std::make_unique<FakeConstraint>(kVocab, rule), kVocab));
    request.drafters.push_back(std::make_unique<NgramDrafter>(NgramOptions{4, 1}));
    request.budget = {.policy = Policy::kFixed, .fixed_nodes = 4};
    return request;
  }
  EngineResult Run(EngineRequest request) {
    Engine engine(
        target_,
        {.vocab_size = kVocab, .max_model_len = 200, .kv_blocks = 32, .end_tokens = {kEnd}});
    const auto id = engine.Submit(std::move(request)).value();
    std::unique_ptr<EngineResult> result;
    while ((result = engine.Take(id)) == nullptr) engine.Step();
    EXPECT_EQ(engine.pool().free_blocks(), 32);
    return *result;
  }
  static std::vector<TokenId> Output(const EngineResult& result) {
    return {result.tokens.begin() + static_cast<std::ptrdiff_t>(result.prompt_tokens),
            result.tokens.end()};
  }

  FakeTarget fake_{kVocab, 11};
  FakeKvTarget target_{fake_, 32, kLimits};
};

// Ten tokens of `output`, whatever the target wants, then the end.
ConstraintRule Spelling(TokenId first) {
  return [first](const std::vector<TokenId>& output, TokenId token) {
    if (output.size() < 10) return token == first + static_cast<TokenId>(output.size());
    return output.size() == 10 && token == kEnd;
  };
}

TEST_P(EngineConstraint, EveryTokenIsAllowedAndAnEndTokenEnds) {
  for (const bool guess : {false, true}) {
    EngineRequest request = MakeRequest(Spelling(30), guess);
    request.params.ignore_eos = true;  // the constraint's end is an end all the same
    const EngineResult result = Run(std::move(request));
    EXPECT_EQ(Output(result), (std::vector<TokenId>{30, 31, 32, 33, 34, 35, 36, 37, 38, 39, kEnd}));
    EXPECT_EQ(result.reason, FinishReason::kStop);
  }
}

TEST_P(EngineConstraint, WhatIsForcedIsGuessedAndAccepted) {
  const EngineResult plain = Run(MakeRequest(Spelling(30), false));
  const EngineResult guessed = Run(MakeRequest(Spelling(30), true));
  EXPECT_EQ(Output(guessed), Output(plain));
  // The first token is the prompt's; then four guesses and one more a pass.
  EXPECT_EQ(plain.stats.target_passes, 10);
  EXPECT_EQ(guessed.stats.target_passes, 2);
  EXPECT_EQ(guessed.stats.draft_tokens, guessed.stats.accepted_tokens);
  EXPECT_EQ(guessed.stats.drafters[0].name, "forced");
  EXPECT_EQ(guessed.stats.drafters[0].accepted_tokens, 8);
}

TEST_P(EngineConstraint, WhereNothingMayFollowTheRequestEnds) {
  for (const bool guess : {false, true}) {
    for (const size_t length : {0, 1, 7}) {
      const auto rule = [length](const std::vector<TokenId>& output, TokenId token) {
        return output.size() < length && token < 60;
      };
      const EngineResult stuck = Run(MakeRequest(rule, guess));
      EXPECT_EQ(stuck.reason, FinishReason::kStuck);
      EXPECT_EQ(Output(stuck).size(), length);
      EngineRequest request = MakeRequest(rule, guess);
      auto complete = std::make_unique<FakeConstraint>(kVocab, rule);
      complete->CompleteWhen([length](const auto& output) { return output.size() == length; });
      request.constraint = std::move(complete);
      const EngineResult done = Run(std::move(request));
      EXPECT_EQ(done.reason, FinishReason::kStop) << "a text that may end here is whole";
      EXPECT_EQ(Output(done).size(), length);
    }
  }
}

// Guesses that a constraint forbids take no rows.
TEST_P(EngineConstraint, ForbiddenGuessesAreNotVerified) {
  const auto even = [](const std::vector<TokenId>&, TokenId token) { return token % 2 == 0; };
  for (const TokenId guess : {30, 31}) {
    EngineRequest request = MakeRequest(even, false);
    request.drafters.push_back(
        std::make_unique<ScriptedDrafter>([guess](std::span<const TokenId>, const ProposeLimits&) {
          return ChainOf(std::vector<TokenId>{guess, 40});
        }));
    request.budget = {.policy = Policy::kFixed, .fixed_nodes = 2};
    const EngineResult result = Run(std::move(request));
    EXPECT_EQ(result.stats.draft_tokens > 0, guess == 30);
    for (const TokenId token : Output(result)) EXPECT_EQ(token % 2, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, EngineConstraint,
                         testing::Values(AcceptanceRule::kCoupled, AcceptanceRule::kRatio,
                                         AcceptanceRule::kBlock),
                         [](const auto& info) {
                           return std::string(info.param == AcceptanceRule::kCoupled ? "coupled"
                                              : info.param == AcceptanceRule::kRatio ? "ratio"
                                                                                     : "block");
                         });

}  // namespace
}  // namespace hunch

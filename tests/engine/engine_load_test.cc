// The engine under load: hard limits on guessing, rows of a pass, requests in the background,
// drafters that break, and preemption. Whatever happens, each text is the one that the request
// gives alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <stdexcept>
#include <thread>

#include "draft/draft_model.h"
#include "draft/ngram.h"
#include "support/engine_fixture.h"

namespace hunch {
namespace {

using EngineLoadTest = EngineFixture;

TEST_F(EngineLoadTest, NothingIsGuessedWhileTooManyRun) {
  const auto whole = Plain(MakeRequest(10, 60));
  const auto other = Plain(MakeRequest(15, 10));
  Engine engine = MakeEngine(64, 300);
  EngineRequest request = MakeRequest(10, 60, Right(whole));
  request.budget.switches.disable_by_batch_size = 1;
  const auto guesses = engine.Submit(std::move(request)).value();
  const auto beside = engine.Submit(MakeRequest(15, 10)).value();
  EXPECT_EQ(Finish(engine, beside).tokens, other);
  EXPECT_EQ(engine.totals().drafts, 0);
  const EngineResult result = Finish(engine, guesses);
  EXPECT_EQ(result.tokens, whole);
  // The 10 tokens that they had together, and 50 more at up to 5 a pass.
  EXPECT_EQ(result.stats.target_passes, 9 + 10);
  EXPECT_EQ(result.stats.accepted_tokens, 40);
}

TEST_F(EngineLoadTest, NothingIsGuessedPastALength) {
  const auto whole = Plain(MakeRequest(20, 60));
  Engine engine = MakeEngine(64, 300);
  EngineRequest request = MakeRequest(20, 60, Right(whole));
  request.budget.switches.max_model_len = 40;
  const EngineResult result = Finish(engine, engine.Submit(std::move(request)).value());
  EXPECT_EQ(result.tokens, whole);
  // 21 tokens after the prompt's pass; then 26, 31, 36, and 41 with the target's own.
  EXPECT_EQ(result.stats.accepted_tokens, 16);
  EXPECT_EQ(result.stats.target_passes, 4 + 39);
}

TEST_F(EngineLoadTest, NoPassHasMoreRowsThanAllowedAndALongPromptStallsNobody) {
  constexpr int kRows = 6;
  const auto first = Plain(MakeRequest(20, 250));
  const auto second = Plain(MakeRequest(25, 90));
  const auto late = Plain(MakeRequest(100, 5));
  EngineOptions options = Options(64, 300);
  options.max_num_batched_tokens = kRows;
  Engine engine(target_, options);
  const auto step = [&] {
    const int64_t rows = target_.rows;
    engine.Step();
    EXPECT_LE(target_.rows - rows, kRows);
  };
  const auto a = engine.Submit(MakeRequest(20, 250, Right(first))).value();
  const auto b = engine.Submit(MakeRequest(25, 90)).value();
  while (engine.totals().prompt_tokens < 45) step();
  const auto c = engine.Submit(MakeRequest(100, 5)).value();
  int steps = 0;
  while (engine.totals().prompt_tokens < 145) {
    const int64_t tokens = engine.totals().generation_tokens;
    step();
    ++steps;
    EXPECT_GE(engine.totals().generation_tokens - tokens, 2) << "one for each that decodes";
  }
  // Two rows are the decoders' own, and two of the other four the prompt's.
  EXPECT_LE(steps, 51);
  EXPECT_EQ(Finish(engine, a).tokens, first);
  EXPECT_EQ(Finish(engine, b).tokens, second);
  EXPECT_EQ(Finish(engine, c).tokens, late);
}

// By the clock of a machine that needs 10 ms for a row.
TEST_F(EngineLoadTest, WhoeverDecodesWaitsForAPartOfAPrompt) {
  FakeKvTarget target(fake_, 64, {.max_rows = 256, .max_logit_rows = 12});
  EngineOptions options = Options(64, 300);
  options.pass_times = {{1, 0.01}, {32, 0.32}};
  Engine engine(target, options);
  const auto rows_of_first_pass = [&] {
    engine.Submit(MakeRequest(250, 5)).value();
    const int64_t rows = target.rows;
    engine.Step();
    return target.rows - rows;
  };
  EXPECT_EQ(rows_of_first_pass(), 250);
  EXPECT_EQ(rows_of_first_pass(), 1 + 32) << "the first one decodes";
}

TEST_F(EngineLoadTest, NoMoreRunThanAPassHasRowsFor) {
  EngineOptions options = Options(64, 300);
  options.max_num_batched_tokens = 2;
  Engine engine(target_, options);
  std::vector<Engine::RequestId> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(engine.Submit(MakeRequest(20, 8)).value());
  for (int step = 0; step < 3; ++step) engine.Step();
  EXPECT_EQ(engine.pool().free_blocks(), 63) << "the second waits for the first one's prompt";
  for (const auto id : ids) EXPECT_EQ(Finish(engine, id).tokens.size(), 28u);
}

TEST_F(EngineLoadTest, TheBackgroundRunsAloneAndOneRowAPass) {
  const auto whole = Plain(MakeRequest(50, 20));
  const auto other = Plain(MakeRequest(50, 30));
  EngineOptions options = Options(64, 300);
  options.share_prefixes = true;
  Engine engine(target_, options);
  EngineRequest audit = MakeRequest(50, 20);
  audit.background = true;
  const auto background = engine.Submit(std::move(audit)).value();
  const int64_t rows = target_.rows, passes = target_.passes;
  for (int step = 0; step < 55; ++step) engine.Step();
  EXPECT_EQ(target_.passes - passes, 55);
  EXPECT_EQ(target_.rows - rows, 55);
  const int held = 64 - engine.pool().free_blocks();
  EXPECT_EQ(held, 4) << "55 slots";
  const auto foreground = engine.Submit(MakeRequest(50, 30)).value();
  const EngineResult result = Finish(engine, foreground);
  EXPECT_EQ(result.tokens, other);
  EXPECT_EQ(result.stats.cached_tokens, 0) << "an audit's KV is nobody else's";
  EXPECT_EQ(64 - engine.pool().free_blocks(), held) << "it stood still, and kept its place";
  EXPECT_EQ(engine.Take(background), nullptr);
  EXPECT_EQ(Finish(engine, background).tokens, whole);
  EXPECT_EQ(engine.totals().prompt_tokens, 50);
  EXPECT_EQ(engine.totals().generation_tokens, 30);
}

TEST_F(EngineLoadTest, TheBackgroundTakesNothingFromThePrefixCache) {
  EngineOptions options = Options(64, 300);
  options.share_prefixes = true;
  Engine engine(target_, options);
  Finish(engine, engine.Submit(MakeRequest(50, 5)).value());
  const int64_t rows = target_.rows;
  EngineRequest audit = MakeRequest(50, 5);
  audit.background = true;
  Finish(engine, engine.Submit(std::move(audit)).value());
  EXPECT_EQ(target_.rows - rows, 54) << "all of the prompt, and four tokens";
}

TEST_F(EngineLoadTest, TheBackgroundGivesItsMemoryToOthers) {
  const auto whole = Plain(MakeRequest(90, 20));
  const auto first = Plain(MakeRequest(60, 10));
  const auto second = Plain(MakeRequest(61, 10));
  Engine engine = MakeEngine(11, 140);
  EngineRequest audit = MakeRequest(90, 20);
  audit.background = true;
  const auto background = engine.Submit(std::move(audit)).value();
  for (int step = 0; step < 80; ++step) engine.Step();
  const auto a = engine.Submit(MakeRequest(60, 10)).value();
  const auto b = engine.Submit(MakeRequest(61, 10)).value();
  for (int step = 0; step < 6; ++step) engine.Step();
  EXPECT_EQ(engine.totals().prompt_tokens, 121) << "both run";
  EXPECT_EQ(Finish(engine, a).tokens, first);
  EXPECT_EQ(Finish(engine, b).tokens, second);
  EXPECT_EQ(Finish(engine, background).tokens, whole);
  EXPECT_EQ(engine.totals().preemptions, 0) << "no request that somebody waits for";
  EXPECT_EQ(engine.pool().free_blocks(), 11);
}

// Throws where it is told to.
class ThrowingDrafter : public Drafter {
 public:
  enum class Where { kStart, kPropose, kObserve, kForget };
  explicit ThrowingDrafter(Where where) : where_(where) {}
  std::string_view name() const override { return "throwing"; }
  Status Start(std::span<const TokenId>, const SamplingParams&) override {
    At(Where::kStart);
    return Ok{};
  }
  Status Propose(std::span<const TokenId>, const ProposeLimits&, DraftTree& tree) override {
    tree.clear();
    tree.Add(1, -1, 0.5f);
    if (++proposals_ == 3) At(Where::kPropose);
    return Ok{};
  }
  void Observe(const Observation&) override { At(Where::kObserve); }
  void Forget() override { At(Where::kForget); }

 private:
  void At(Where where) const {
    if (where == where_) throw std::runtime_error("thrown by a test");
  }
  Where where_;
  int proposals_ = 0;
};

TEST_F(EngineLoadTest, ADrafterThatThrowsIsDroppedAndCounted) {
  using Where = ThrowingDrafter::Where;
  const auto whole = Plain(MakeRequest(20, 40));
  for (const Where where : {Where::kStart, Where::kPropose, Where::kObserve, Where::kForget}) {
    Engine engine = MakeEngine(64, 300);
    EngineRequest request = MakeRequest(20, 40, Right(whole));
    request.drafters.push_back(std::make_unique<ThrowingDrafter>(where));
    const EngineResult result = Finish(engine, engine.Submit(std::move(request)).value());
    EXPECT_EQ(result.tokens, whole);
    EXPECT_EQ(result.stats.drafter_errors, 1) << static_cast<int>(where);
    EXPECT_EQ(engine.totals().drafter_errors, 1);
    EXPECT_GT(result.stats.drafters[0].accepted_tokens, 20) << "the other one goes on";
  }
}

TEST_F(EngineLoadTest, ADrafterOverItsWorkBoundIsDroppedAndCounted) {
  const auto whole = Plain(MakeRequest(20, 40));
  int slow_calls = 0;
  const auto slow = [&](std::span<const TokenId> committed, const ProposeLimits& limits) {
    ++slow_calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return TrueContinuation(whole, kVocab)(committed, limits);
  };
  EngineRequest request = MakeRequest(20, 40, std::make_unique<ScriptedDrafter>(slow), 1);
  request.budget.most_call_seconds = 1e-4;
  EngineOptions options = Options(64, 300);
  options.pass_times = {{1, 1e-5}};
  Engine engine(target_, options);
  const EngineResult result = Finish(engine, engine.Submit(std::move(request)).value());
  EXPECT_EQ(result.tokens, whole);
  EXPECT_EQ(slow_calls, 3) << "once may be the machine's fault";
  EXPECT_EQ(result.stats.drafter_errors, 1);
  EXPECT_EQ(result.stats.accepted_tokens, 2) << "what came too late for good counts no more";
}

TEST_F(EngineLoadTest, GoodputAndBudgetsAreCounted) {
  const auto whole = Plain(MakeRequest(20, 41));
  EngineOptions options = Options(64, 300);
  options.pass_times = {{1, 1e-5}, {8, 1e-5}};
  Engine engine(target_, options);
  Finish(engine, engine.Submit(MakeRequest(20, 41, Right(whole))).value());
  EXPECT_GT(engine.totals().goodput_seconds, 0);
  EXPECT_GT(engine.totals().goodput_ratio(), 0);
  // 40 tokens in 8 passes.
  EXPECT_EQ(engine.totals().budgets[3], 8) << "trees of 3 or 4";
  EXPECT_EQ(engine.totals().budgets[0], 0);
}

struct Asked {
  EngineRequest request;
  std::vector<TokenId> alone;
};

// Few blocks for many sequences: some are preempted again and again, with guesses in their way,
// with the prefix cache cold and hot, while others come and leave.
class PreemptionTest : public EngineFixture {
 protected:
  static constexpr int kBlocks = 10, kLength = 150;

  Asked Ask(std::mt19937& random) {
    Asked asked;
    asked.request = MakeRequest(10 + random() % 60, 20 + random() % 50);
    asked.request.params.seed = random() % 2;
    asked.alone = Plain(asked.request.prompt, asked.request.params);
    switch (random() % 4) {
      case 0:
        asked.request.drafters.push_back(Right(asked.alone));
        break;
      case 1:
        asked.request.drafters.push_back(std::make_unique<NgramDrafter>(NgramOptions{4, 1}));
        break;
      case 2:
        asked.request.drafters.push_back(std::make_unique<DraftModel>(
            draft_, draft_pool_, kVocab, kLength, std::vector<TokenId>{}));
        break;
      default:
        break;
    }
    return asked;
  }
  // Returns the tokens that were found in the cache.
  int64_t Run(Engine& engine, uint32_t seed, bool cancels) {
    std::mt19937 random(seed);
    std::vector<Asked> all;
    for (int i = 0; i < 14; ++i) all.push_back(Ask(random));
    std::vector<Engine::RequestId> ids;
    for (Asked& asked : all) {
      ids.push_back(engine.Submit(std::move(asked.request)).value());
      for (unsigned steps = random() % 4; steps > 0; --steps) engine.Step();
    }
    for (int step = 0; cancels && step < 60; ++step) {
      if (step % 12 == 5) engine.Cancel(ids[random() % ids.size()]);
      engine.Step();
    }
    int64_t cached = 0;
    int cancelled = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      const EngineResult result = Finish(engine, ids[i]);
      cached += result.stats.cached_tokens;
      if (result.reason == FinishReason::kCancelled) {
        ++cancelled;
        const std::vector<TokenId>& alone = all[i].alone;
        EXPECT_TRUE(std::equal(result.tokens.begin(), result.tokens.end(), alone.begin()));
      } else {
        EXPECT_EQ(result.tokens, all[i].alone) << seed << " " << i;
      }
    }
    EXPECT_EQ(cancelled > 0, cancels);
    EXPECT_EQ(engine.pool().free_blocks(), kBlocks);
    return cached;
  }

  FakeKvTarget draft_{fake_, 160, kLimits};
  BlockPool draft_pool_{160};
};

TEST_F(PreemptionTest, ChangesNoTextWithACacheThatIsColdOrHot) {
  for (const bool share : {false, true}) {
    for (const uint32_t seed : {1u, 2u, 3u}) {
      Engine engine = MakeEngine(kBlocks, kLength, share);
      Run(engine, seed, false);
      EXPECT_GT(engine.totals().preemptions, 0);
      EXPECT_GT(engine.totals().accepted_tokens, 0);
      const int64_t again = Run(engine, seed, false);
      EXPECT_EQ(again > 0, share);
    }
  }
}

TEST_F(PreemptionTest, ChangesNoTextBesideCancellations) {
  for (const bool share : {false, true}) {
    int64_t preemptions = 0;
    for (const uint32_t seed : {4u, 5u, 6u}) {
      Engine engine = MakeEngine(kBlocks, kLength, share);
      Run(engine, seed, true);
      preemptions += engine.totals().preemptions;
    }
    EXPECT_GT(preemptions, 0);
  }
}

// Every step one of them is thrown out and comes back.
TEST_F(PreemptionTest, AsLittleMemoryAsOneSequenceNeedsServesMany) {
  std::mt19937 random(9);
  std::vector<Asked> all;
  for (int i = 0; i < 5; ++i) all.push_back(Ask(random));
  Engine engine = MakeEngine(kBlocks, kLength);
  std::vector<Engine::RequestId> ids;
  for (Asked& asked : all) ids.push_back(engine.Submit(std::move(asked.request)).value());
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(Finish(engine, ids[i]).tokens, all[i].alone);
  EXPECT_EQ(engine.pool().free_blocks(), kBlocks);
}

}  // namespace
}  // namespace hunch

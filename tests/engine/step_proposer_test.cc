// Tests of proposals for all sequences of a step: the draft model's passes are shared, who takes
// part is decided at the shared price, and a failure is its request's own.
#include "engine/step_proposer.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "draft/draft_model.h"
#include "draft/ngram.h"
#include "engine/engine.h"
#include "support/fake_drafters.h"
#include "support/fake_kv_target.h"

namespace hunch {
namespace {

using Drafters = std::vector<std::unique_ptr<Drafter>>;
using Ids = std::vector<TokenId>;

constexpr int kVocab = 96;
constexpr ForwardLimits kLimits = {.max_rows = 256, .max_logit_rows = 64};

template <typename... Each>
Drafters ListOf(Each... drafters) {
  Drafters list;
  (list.push_back(std::move(drafters)), ...);
  return list;
}

class SharedDrafting : public testing::Test {
 protected:
  static constexpr int kBlocks = 256;

  std::unique_ptr<Drafter> DraftModelOn(BlockPool& pool, int branches = 1) {
    return std::make_unique<DraftModel>(draft_, pool, kVocab, 300, Ids{},
                                        TreeDrafterOptions{branches, branches});
  }
  EngineRequest Request(int i, Drafters drafters, Policy policy = Policy::kFixed) const {
    EngineRequest request;
    request.prompt = fake_.Prompt(static_cast<size_t>(5 + 17 * i));
    request.params.temperature = 0.8f;
    request.params.seed = static_cast<uint64_t>(i);
    request.params.max_tokens = 60;
    request.params.ignore_eos = true;
    request.drafters = std::move(drafters);
    request.budget = {.policy = policy, .fixed_nodes = 4};
    return request;
  }
  Engine MakeEngine() {
    return Engine(target_, {.vocab_size = kVocab, .max_model_len = 300, .kv_blocks = kBlocks});
  }
  static std::vector<EngineResult> RunAll(Engine& engine, std::vector<EngineRequest> requests) {
    std::vector<Engine::RequestId> ids;
    for (EngineRequest& request : requests) {
      ids.push_back(engine.Submit(std::move(request)).value());
    }
    while (engine.Step()) {
    }
    std::vector<EngineResult> results;
    for (const Engine::RequestId id : ids) results.push_back(*engine.Take(id));
    return results;
  }
  EngineResult RunAlone(EngineRequest request) {
    Engine engine = MakeEngine();
    std::vector<EngineRequest> one;
    one.push_back(std::move(request));
    return RunAll(engine, std::move(one))[0];
  }

  FakeTarget fake_{kVocab, 11};
  FakeKvTarget target_{fake_, kBlocks, kLimits};
  // Right often enough, and wrong often enough.
  FakeKvTarget draft_{fake_, kBlocks, kLimits};
  BlockPool pool_{kBlocks};
};

TEST_F(SharedDrafting, SequencesTogetherShareTheModelsPasses) {
  constexpr int kSequences = 5;
  for (const int branches : {1, 3}) {
    std::vector<EngineResult> alone;
    const int64_t before = draft_.passes;
    for (int i = 0; i < kSequences; ++i) {
      alone.push_back(RunAlone(Request(i, ListOf(DraftModelOn(pool_, branches)))));
    }
    const int64_t sum = draft_.passes - before;
    std::vector<EngineRequest> requests;
    for (int i = 0; i < kSequences; ++i) {
      requests.push_back(Request(i, ListOf(DraftModelOn(pool_, branches))));
    }
    Engine engine = MakeEngine();
    const auto together = RunAll(engine, std::move(requests));
    const int64_t shared = draft_.passes - before - sum;
    // Those that have ended leave the others alone; the first tokens differ in when they come.
    EXPECT_LT(3 * shared, sum);
    int64_t counted = 0;
    for (int i = 0; i < kSequences; ++i) {
      EXPECT_EQ(together[i].tokens, alone[i].tokens);
      EXPECT_EQ(together[i].stats.draft_tokens, alone[i].stats.draft_tokens);
      EXPECT_EQ(together[i].stats.accepted_tokens, alone[i].stats.accepted_tokens);
      EXPECT_EQ(together[i].stats.drafters[0].passes, alone[i].stats.drafters[0].passes);
      counted += together[i].stats.drafters[0].passes;
    }
    EXPECT_GT(counted, shared) << "each counts the passes that it took part in";
    EXPECT_EQ(pool_.free_blocks(), kBlocks);
  }
}

TEST_F(SharedDrafting, AFullCacheEndsOneRequestsDrafterOnly) {
  BlockPool small(2);
  std::vector<EngineRequest> requests;
  std::vector<Ids> plain;
  for (int i = 0; i < 4; ++i) {
    plain.push_back(RunAlone(Request(i, {})).tokens);
    requests.push_back(Request(i, ListOf(DraftModelOn(i == 2 ? small : pool_))));
  }
  Engine engine = MakeEngine();
  const auto results = RunAll(engine, std::move(requests));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(results[i].tokens, plain[i]);
    EXPECT_EQ(results[i].stats.drafter_errors, i == 2 ? 1 : 0);
    EXPECT_EQ(results[i].stats.accepted_tokens > 0, i != 2);
  }
  EXPECT_EQ(small.free_blocks(), 2);
}

// Two drafters with models: the second one knows what the first has guessed, in every sequence.
TEST_F(SharedDrafting, DraftersOfARequestAreAskedInTurn) {
  const FakeTarget other(kVocab, 12);
  FakeKvTarget second(other, kBlocks, kLimits);
  BlockPool second_pool(kBlocks);
  const auto request = [&](int i) {
    auto more = std::make_unique<DraftModel>(second, second_pool, kVocab, 300, Ids{});
    return Request(i, ListOf(std::make_unique<NgramDrafter>(NgramOptions{4, 1}), std::move(more),
                             DraftModelOn(pool_)));
  };
  std::vector<EngineRequest> requests;
  for (int i = 0; i < 3; ++i) requests.push_back(request(i));
  Engine engine = MakeEngine();
  const auto results = RunAll(engine, std::move(requests));
  for (int i = 0; i < 3; ++i) {
    const EngineResult alone = RunAlone(request(i));
    EXPECT_EQ(results[i].tokens, alone.tokens);
    for (int drafter = 0; drafter < 3; ++drafter) {
      EXPECT_EQ(results[i].stats.drafters[drafter].draft_tokens,
                alone.stats.drafters[drafter].draft_tokens);
    }
    EXPECT_EQ(results[i].stats.drafters[1].passes, alone.stats.drafters[1].passes);
  }
}

// With the budget: what is too dear for one of eight sequences pays when they share it.
class SharedPrice : public SharedDrafting {
 protected:
  struct Sequence {
    Ids text;
    std::unique_ptr<Speculator> speculator;
    DraftTree tree;
  };
  void SetUp() override {
    // A pass takes hardly longer for a few rows; the draft's is a tenth of it.
    budget_.SetDrafterCost(budget_.DrafterId("draft_model"), 0.1, 0);
  }
  void Add(Drafters drafters, Policy policy) {
    Sequence& sequence = sequences_.emplace_back();
    sequence.text = fake_.Prompt(4);  // so little is read with the first guess
    sequence.speculator = std::make_unique<Speculator>(
        budget_, BudgetOptions{.policy = policy, .fixed_nodes = 2}, kVocab, std::move(drafters));
    sequence.speculator->Start(sequence.text, {});
  }
  // Whether the last sequence's draft model was asked.
  bool LastIsAsked() {
    std::vector<StepProposer::Part> parts;
    for (Sequence& sequence : sequences_) {
      parts.push_back({sequence.speculator.get(), sequence.text, {8, 20}, &sequence.tree});
    }
    StepProposer().Propose(parts, 8);
    return sequences_.back().speculator->stats().back().passes > 0;
  }

  Budget budget_{CostCurve(std::vector<PassTime>{{1, 1.0}, {64, 1.1}})};
  std::vector<Sequence> sequences_;
};

TEST_F(SharedPrice, OneOfEightRowsDoesNotPayForPassesAlone) {
  Add(ListOf(DraftModelOn(pool_)), Policy::kGoodput);
  EXPECT_FALSE(LastIsAsked());
}

TEST_F(SharedPrice, EightTogetherDo) {
  for (int i = 0; i < 8; ++i) Add(ListOf(DraftModelOn(pool_)), Policy::kGoodput);
  const int64_t before = draft_.passes;
  EXPECT_TRUE(LastIsAsked());
  for (const Sequence& sequence : sequences_) {
    EXPECT_GT(sequence.speculator->stats()[0].passes, 0);
    EXPECT_FALSE(sequence.tree.empty());
  }
  EXPECT_LT(draft_.passes - before, 2 * sequences_[0].speculator->stats()[0].passes);
}

TEST_F(SharedPrice, WhoeverDoesNotTakePartPaysForNothing) {
  for (const bool others_decline : {false, true}) {
    sequences_.clear();
    // A constant budget asks, unless the lookup has filled the tree.
    for (int i = 0; i < 7; ++i) {
      const auto fill = [](std::span<const TokenId>, const ProposeLimits&) {
        return ChainOf(Ids{1, 2});
      };
      Drafters drafters = ListOf(DraftModelOn(pool_));
      if (others_decline) drafters.push_back(std::make_unique<ScriptedDrafter>(fill));
      Add(std::move(drafters), Policy::kFixed);
    }
    Add(ListOf(DraftModelOn(pool_)), Policy::kGoodput);
    EXPECT_EQ(LastIsAsked(), !others_decline);
  }
}

}  // namespace
}  // namespace hunch

// Committed rows on their whole way: out of the engine, through the ring, to texts, to replays.
// What a replay counts is what the engine itself counted.
#include "learn/replay.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "engine/engine.h"
#include "learn/row_collector.h"
#include "learn/text_assembler.h"
#include "support/heads.h"

namespace hunch {
namespace {

class ReplayTest : public testing::TestWithParam<HeadKind> {
 protected:
  static constexpr int kBlocks = 64;
  static constexpr int kContext = 300;
  static constexpr ForwardLimits kLimits = {.max_rows = 40, .max_logit_rows = 24};

  LoadedHead Head(const std::function<bool(TokenId)>& wrong) {
    return LoadedHead(SuccessorHead(model_->config(), wrong, GetParam()), *model_, threads_,
                      kLimits, kBlocks);
  }
  LoadedHead Knowing() {
    return Head([](TokenId) { return false; });
  }
  LoadedHead Erring() {
    return Head([](TokenId token) { return token % 4 == 1; });
  }
  Engine MakeEngine(bool share = false) {
    return Engine(target_, {.vocab_size = kSuccessorVocab,
                            .max_model_len = kContext,
                            .kv_blocks = kBlocks,
                            .share_prefixes = share,
                            .end_tokens = {}});
  }
  EngineResult Run(Engine& engine, const LoadedHead& head, RowCollector& collector, int prompt) {
    BlockPool pool(kBlocks);
    EngineRequest request;
    request.prompt = {7};
    while (static_cast<int>(request.prompt.size()) < prompt) {
      request.prompt.push_back(Successor(request.prompt.back()));
    }
    request.params.max_tokens = 60;
    request.budget = {.policy = Policy::kFixed, .fixed_nodes = kReplayedGuesses};
    request.drafters.push_back(head.Drafts(pool, kContext, {}));
    request.sink = &collector;
    const auto id = engine.Submit(std::move(request)).value();
    std::unique_ptr<EngineResult> result;
    while ((result = engine.Take(id)) == nullptr) engine.Step();
    return *result;
  }
  static std::vector<LearnedText> Drain(RowCollector& collector) {
    std::vector<LearnedText> texts;
    TextAssembler assembler(collector.layout(), size_t{1} << 30,
                            [&](LearnedText text) { texts.push_back(std::move(text)); });
    while (const auto slot = collector.ring().Front()) {
      assembler.Add(slot->label, slot->row);
      collector.ring().Pop();
    }
    return texts;
  }
  PassesNeeded ReplayWith(const LoadedHead& head, const FeatureLayout& layout,
                          const LearnedText& text) {
    BlockPool pool(kBlocks);
    PassesNeeded passes;
    const auto drafter = head.Drafts(pool, kContext, {});
    const Status replayed = Replay(text, layout, kLimits.max_rows, *drafter, passes);
    EXPECT_TRUE(replayed.ok());
    return passes;
  }

  ThreadPool threads_{2};
  std::vector<std::byte> bytes_ = SuccessorModel();
  std::unique_ptr<Model> model_ =
      Model::Load(GgufFile::Parse(bytes_, "successor").value(), threads_, kLimits).value();
  ModelTarget target_{*model_, ModelKv::Create(model_->config(), KvType::kF16, kBlocks).value()};
};

TEST_P(ReplayTest, CountsWhatTheEngineCounted) {
  const LoadedHead erring = Erring(), knowing = Knowing();
  RowCollector collector(erring.config, kLimits.max_rows, 1000);
  for (const int prompt : {17, 40, 95}) {
    Engine engine = MakeEngine();
    const EngineResult result = Run(engine, erring, collector, prompt);
    if (GetParam() != HeadKind::kMedusa) {  // which never stands behind a token that it errs after
      EXPECT_LT(result.stats.accepted_tokens, result.stats.draft_tokens);
    }
    const std::vector<LearnedText> texts = Drain(collector);
    ASSERT_EQ(texts.size(), 1u);
    EXPECT_EQ(texts[0].tokens, result.tokens);
    EXPECT_EQ(texts[0].prompt, static_cast<uint32_t>(prompt));
    const PassesNeeded replayed = ReplayWith(erring, collector.layout(), texts[0]);
    EXPECT_EQ(replayed.passes, result.stats.target_passes) << prompt;
    EXPECT_EQ(replayed.tokens, 59);
    // On the same text, a head that knows.
    const PassesNeeded better = ReplayWith(knowing, collector.layout(), texts[0]);
    EXPECT_EQ(better.passes, GetParam() == HeadKind::kMedusa ? 15 : 10);
    EXPECT_EQ(better.tokens, 59);
  }
  EXPECT_EQ(collector.ring().dropped(), 0);
}

TEST_P(ReplayTest, OfALongPromptOnlyTheEndIsKept) {
  const LoadedHead head = Knowing();
  RowCollector collector(head.config, kLimits.max_rows, 1000);
  const std::vector<TokenId> tokens(1000, 5);
  std::vector<int32_t> rows(kLimits.max_rows);
  for (int first = 0; first + kLimits.max_rows < 1000; first += kLimits.max_rows) {
    collector.Take({.id = 3, .prompt = 900, .temperature = 0}, {tokens, first, rows, false});
  }
  ASSERT_TRUE(collector.ring().Front());
  EXPECT_EQ(collector.ring().Front()->label.position, 900 - kLearnedContext);
}

TEST_P(ReplayTest, WhatTheCacheHadIsMissingAndTheRestIsReplayed) {
  const LoadedHead head = Knowing();
  RowCollector collector(head.config, kLimits.max_rows, 1000);
  Engine engine = MakeEngine(true);
  Run(engine, head, collector, 70);
  Drain(collector);
  const EngineResult result = Run(engine, head, collector, 70);
  ASSERT_EQ(result.stats.cached_tokens, 64);
  const std::vector<LearnedText> texts = Drain(collector);
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_EQ(texts[0].size(), 66);
  const PassesNeeded replayed = ReplayWith(head, collector.layout(), texts[0]);
  EXPECT_EQ(replayed.tokens, 66 - TextAssembler::kLeastContext - 1);
  EXPECT_LT(replayed.passes, replayed.tokens / 3);
}

INSTANTIATE_TEST_SUITE_P(Kinds, ReplayTest,
                         testing::Values(HeadKind::kEagle3, HeadKind::kEagle, HeadKind::kMedusa),
                         [](const auto& info) { return std::string(HeadKindName(info.param)); });

}  // namespace
}  // namespace hunch

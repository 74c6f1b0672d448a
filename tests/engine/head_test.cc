// A head in the engine: one that knows what its target will say is accepted always, in any batch,
// over any cut of the prompt, with and without the prefix cache; and no text changes.
#include <gtest/gtest.h>

#include <memory>

#include "engine/engine.h"
#include "support/heads.h"

namespace hunch {
namespace {

using Ids = std::vector<TokenId>;

class HeadInEngine : public testing::Test {
 protected:
  static constexpr int kBlocks = 64;
  static constexpr ForwardLimits kLimits = {.max_rows = 40, .max_logit_rows = 24};

  Engine MakeEngine(int kv_blocks = kBlocks, bool share = false) {
    return Engine(target_, {.vocab_size = kSuccessorVocab,
                            .max_model_len = 200,
                            .kv_blocks = kv_blocks,
                            .share_prefixes = share,
                            .end_tokens = {}});
  }
  static Ids Prompt(int length, TokenId first) {
    Ids prompt = {first};
    while (static_cast<int>(prompt.size()) < length) prompt.push_back(Successor(prompt.back()));
    return prompt;
  }
  static std::unique_ptr<Drafter> Drafts(const LoadedHead& head, BlockPool& pool,
                                         int branches = 1) {
    return head.Drafts(pool, 200, {.branches = branches, .expand = branches});
  }
  LoadedHead Knowing(HeadKind kind) {
    return LoadedHead(SuccessorHead(
                          model_->config(), [](TokenId) { return false; }, kind),
                      *model_, threads_, kLimits, kBlocks);
  }
  static EngineRequest Request(Ids prompt, float temperature,
                               std::unique_ptr<Drafter> drafter = nullptr) {
    EngineRequest request;
    request.prompt = std::move(prompt);
    request.params.temperature = temperature;
    request.params.max_tokens = 60;
    request.budget = {.policy = Policy::kFixed, .fixed_nodes = 5};
    if (drafter) request.drafters.push_back(std::move(drafter));
    return request;
  }
  static EngineResult Finish(Engine& engine, Engine::RequestId id) {
    std::unique_ptr<EngineResult> result;
    while ((result = engine.Take(id)) == nullptr) engine.Step();
    return *result;
  }
  EngineResult Run(Engine& engine, EngineRequest request) {
    return Finish(engine, engine.Submit(std::move(request)).value());
  }
  Ids Plain(const Ids& prompt, float temperature) {
    Engine engine = MakeEngine();
    return Run(engine, Request(prompt, temperature)).tokens;
  }

  ThreadPool threads_{2};
  std::vector<std::byte> bytes_ = SuccessorModel();
  std::unique_ptr<Model> model_ =
      Model::Load(GgufFile::Parse(bytes_, "successor").value(), threads_, kLimits).value();
  ModelTarget target_{*model_, ModelKv::Create(model_->config(), KvType::kF16, kBlocks).value()};
  LoadedHead knows_ = Knowing(HeadKind::kEagle3);
  LoadedHead errs_{SuccessorHead(model_->config(), [](TokenId token) { return token % 4 == 1; }),
                   *model_, threads_, kLimits, kBlocks};
  BlockPool pool_{kBlocks};
};

TEST_F(HeadInEngine, OneThatKnowsIsAlwaysRight) {
  Engine engine = MakeEngine();
  for (const int prompt : {2, 17, 40, 95}) {
    const EngineResult result = Run(engine, Request(Prompt(prompt, 7), 0, Drafts(knows_, pool_)));
    EXPECT_EQ(result.tokens, Prompt(prompt + 60, 7));
    EXPECT_EQ(result.stats.accepted_tokens, result.stats.draft_tokens) << prompt;
    // The prompt's pass gives one token; five guesses and one more are then a pass's.
    EXPECT_EQ(result.stats.target_passes, 10) << prompt;
  }
  EXPECT_EQ(pool_.free_blocks(), kBlocks);
}

TEST_F(HeadInEngine, SoIsAnEagleAndAsFarAsItSeesAMedusa) {
  for (const HeadKind kind : {HeadKind::kEagle, HeadKind::kMedusa}) {
    const LoadedHead head = Knowing(kind);
    Engine engine = MakeEngine();
    const EngineResult result = Run(engine, Request(Prompt(50, 7), 0, Drafts(head, pool_)));
    EXPECT_EQ(result.tokens, Prompt(110, 7));
    EXPECT_EQ(result.stats.accepted_tokens, result.stats.draft_tokens);
    // Three heads guess three tokens; 59 come after the prompt's pass.
    EXPECT_EQ(result.stats.target_passes, kind == HeadKind::kEagle ? 10 : 15);
    EXPECT_EQ(result.stats.drafters[0].name, kind == HeadKind::kEagle ? "eagle" : "medusa");
  }
  EXPECT_EQ(pool_.free_blocks(), kBlocks);
}

TEST_F(HeadInEngine, OneThatErrsChangesNoText) {
  for (const float temperature : {0.0f, 1.0f}) {
    for (const int branches : {1, 3}) {
      Engine engine = MakeEngine();
      const Ids prompt = Prompt(30, 9);
      const EngineResult result =
          Run(engine, Request(prompt, temperature, Drafts(errs_, pool_, branches)));
      EXPECT_EQ(result.tokens, Plain(prompt, temperature));
      EXPECT_GT(result.stats.accepted_tokens, 10);
      EXPECT_LT(result.stats.accepted_tokens, result.stats.draft_tokens);
    }
  }
}

TEST_F(HeadInEngine, SequencesTogetherSayWhatEachSaysAlone) {
  Engine engine = MakeEngine();
  std::vector<Engine::RequestId> ids;
  for (int i = 0; i < 4; ++i) {
    LoadedHead& head = i == 3 ? errs_ : knows_;
    // Two of them use one head; memory of their own each.
    ids.push_back(engine.Submit(Request(Prompt(20 + 11 * i, i), 0, Drafts(head, pool_))).value());
  }
  for (int i = 0; i < 4; ++i) {
    const EngineResult result = Finish(engine, ids[i]);
    EXPECT_EQ(result.tokens, Prompt(80 + 11 * i, i));
    if (i < 3) {
      EXPECT_EQ(result.stats.accepted_tokens, result.stats.draft_tokens) << i;
    }
  }
}

TEST_F(HeadInEngine, AfterAPrefixCacheHitItGoesOnKnowing) {
  Engine engine = MakeEngine(kBlocks, true);
  BlockPool shared(kBlocks, true);
  const Ids prompt = Prompt(70, 3);
  for (int turn = 0; turn < 2; ++turn) {
    const EngineResult result = Run(engine, Request(prompt, 0, Drafts(knows_, shared)));
    EXPECT_EQ(result.stats.cached_tokens, turn == 0 ? 0 : 64);
    EXPECT_EQ(result.tokens, Prompt(130, 3));
    EXPECT_EQ(result.stats.accepted_tokens, result.stats.draft_tokens);
  }
  // The second turn has read the answer too, the target's and the head's.
  Ids longer = Prompt(135, 3);
  const EngineResult next = Run(engine, Request(longer, 0, Drafts(knows_, shared)));
  EXPECT_EQ(next.stats.cached_tokens, 128);
  EXPECT_EQ(next.stats.accepted_tokens, next.stats.draft_tokens);
  EXPECT_EQ(shared.prefixes()->idle_blocks(), (135 + 60 - 1) / kSlotsPerBlock);
}

// Two texts that part where a block begins: the head's last row before reads the token behind it,
// so that the head knows a block less than the target, which reads it again.
TEST_F(HeadInEngine, WhereTextsPartBetweenBlocksNothingIsMissing) {
  Engine engine = MakeEngine(kBlocks, true);
  BlockPool shared(kBlocks, true);
  const Ids first = Prompt(70, 3);
  Run(engine, Request(first, 0, Drafts(knows_, shared)));
  const int before = shared.prefixes()->idle_blocks();
  Ids second(first.begin(), first.begin() + 64);
  second.push_back((first[64] + 1) % kSuccessorVocab);
  while (second.size() < 70) second.push_back(Successor(second.back()));
  const EngineResult result = Run(engine, Request(second, 0, Drafts(knows_, shared)));
  EXPECT_EQ(result.tokens, Plain(second, 0));
  EXPECT_EQ(result.stats.cached_tokens, 48);
  EXPECT_EQ(result.stats.accepted_tokens, result.stats.draft_tokens);
  // Of 129 rows it found those of three blocks, and what it read itself it shares.
  EXPECT_EQ(shared.prefixes()->idle_blocks() - before, 129 / kSlotsPerBlock - 3);
  // One that reads no hidden states takes all that there is.
  EXPECT_EQ(Run(engine, Request(second, 0)).stats.cached_tokens, 64);
  // One that knows nothing of it does not have all of it read again.
  BlockPool own(kBlocks, true);
  EXPECT_EQ(Run(engine, Request(second, 0, Drafts(knows_, own))).stats.cached_tokens, 64);
}

TEST_F(HeadInEngine, OneThatComesLaterGuessesFromTheNextStepOn) {
  Engine engine = MakeEngine();
  const auto id = engine.Submit(Request(Prompt(30, 5), 0)).value();
  for (int step = 0; step < 11; ++step) engine.Step();
  std::vector<std::unique_ptr<Drafter>> drafters;
  drafters.push_back(Drafts(knows_, pool_));
  engine.SetDrafters(id, std::move(drafters), {.policy = Policy::kFixed, .fixed_nodes = 5});
  const EngineResult result = Finish(engine, id);
  EXPECT_EQ(result.tokens, Prompt(90, 5));
  EXPECT_EQ(result.stats.accepted_tokens, result.stats.draft_tokens);
  EXPECT_GE(result.stats.accepted_tokens, 35);
}

TEST_F(HeadInEngine, WithScarceMemoryOfTheTargetItIsReadAgain) {
  // Three sequences of up to 110 tokens want 21 blocks; there are 13.
  Engine engine = MakeEngine(13);
  std::vector<Engine::RequestId> ids;
  for (int i = 0; i < 3; ++i) {
    ids.push_back(engine.Submit(Request(Prompt(40 + i, i), 0, Drafts(knows_, pool_))).value());
  }
  for (int i = 0; i < 3; ++i) {
    const EngineResult result = Finish(engine, ids[i]);
    EXPECT_EQ(result.tokens, Prompt(100 + i, i));
    EXPECT_EQ(result.stats.accepted_tokens, result.stats.draft_tokens);
  }
  EXPECT_GT(engine.totals().preemptions, 0);
}

TEST_F(HeadInEngine, WithoutMemoryOfItsOwnItIsDropped) {
  BlockPool small(3);
  Engine engine = MakeEngine();
  const EngineResult result = Run(engine, Request(Prompt(30, 5), 0, Drafts(knows_, small)));
  EXPECT_EQ(result.tokens, Prompt(90, 5));
  EXPECT_EQ(result.stats.drafter_errors, 1);
  EXPECT_GT(result.stats.accepted_tokens, 0);
  EXPECT_EQ(small.free_blocks(), 3);
}

}  // namespace
}  // namespace hunch

// The step transaction on a fake target whose KV slots remember their tokens: several sequences,
// scarce memory, cancels, failing drafters, and the counts.
#include "engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "draft/draft_model.h"
#include "draft/ngram.h"
#include "support/engine_fixture.h"

namespace hunch {
namespace {

using EngineTest = EngineFixture;

TEST_F(EngineTest, SequencesTogetherGiveWhatEachGivesAlone) {
  Engine engine = MakeEngine(64, 300);
  std::vector<Engine::RequestId> ids;
  std::vector<std::vector<TokenId>> alone;
  for (int i = 0; i < 5; ++i) {
    const size_t prompt = 3 + 29 * i;
    alone.push_back(Plain(MakeRequest(prompt, 40)));
    auto drafter = i % 2 == 0 ? std::make_unique<NgramDrafter>(NgramOptions{4, 1}) : nullptr;
    ids.push_back(engine.Submit(MakeRequest(prompt, 40, std::move(drafter))).value());
  }
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Finish(engine, ids[i]).tokens, alone[i]) << i;
  EXPECT_EQ(engine.pool().free_blocks(), 64);
}

TEST_F(EngineTest, ScarceMemoryPreemptsAndChangesNothing) {
  // Three sequences of up to 112 tokens want 21 blocks; there are 9.
  Engine engine = MakeEngine(9, 140);
  std::vector<Engine::RequestId> ids;
  std::vector<std::vector<TokenId>> alone;
  for (int i = 0; i < 3; ++i) {
    alone.push_back(Plain(MakeRequest(30 + i, 80)));
    ids.push_back(
        engine.Submit(MakeRequest(30 + i, 80, std::make_unique<NgramDrafter>(NgramOptions{4, 1})))
            .value());
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Finish(engine, ids[i]).tokens, alone[i]) << i;
  EXPECT_EQ(engine.pool().free_blocks(), 9);
}

TEST_F(EngineTest, ASecondTurnReadsOnlyWhatIsNew) {
  Engine engine = MakeEngine(64, 300, true);
  const auto first = Finish(engine, engine.Submit(MakeRequest(50, 30)).value());
  EXPECT_EQ(first.stats.cached_tokens, 0);
  EngineRequest next = MakeRequest(50, 30);
  next.prompt = first.tokens;
  for (TokenId token : {5, 6, 7}) next.prompt.push_back(token);
  const auto alone = Plain(next.prompt, next.params);
  const auto second = Finish(engine, engine.Submit(std::move(next)).value());
  EXPECT_EQ(second.tokens, alone);
  // The last token was never read: 79 slots, of which four blocks are full.
  EXPECT_EQ(second.stats.cached_tokens, 64);
  EXPECT_EQ(engine.pool().free_blocks(), 64);
}

TEST_F(EngineTest, RequestsOfAnotherSaltShareNothing) {
  Engine engine = MakeEngine(64, 300, true);
  Finish(engine, engine.Submit(MakeRequest(50, 5)).value());
  EngineRequest other = MakeRequest(50, 5);
  other.cache_salt = std::make_shared<const std::string>("other");
  EXPECT_EQ(Finish(engine, engine.Submit(std::move(other)).value()).stats.cached_tokens, 0);
}

TEST_F(EngineTest, AtMostSoManyRunAtOnce) {
  Engine engine = MakeEngine(64, 300, false, 2);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(engine.Submit(MakeRequest(20, 8)).ok());
  for (int step = 0; step < 3; ++step) engine.Step();
  EXPECT_EQ(engine.pool().free_blocks(), 64 - 2 * 2) << "two sequences of 20 tokens";
}

// Everything at once: texts that begin alike, two salts, little memory, so that blocks are
// adopted, evicted and preempted; guesses; and requests that go in the middle.
TEST_F(EngineTest, SharedPrefixesChangeNoText) {
  std::mt19937 random(17);
  const auto salt = std::make_shared<const std::string>("s");
  std::vector<EngineRequest> requests;
  std::vector<std::vector<TokenId>> alone;
  for (int i = 0; i < 60; ++i) {
    EngineRequest request = MakeRequest(20 + random() % 70, 10 + random() % 60);
    if (random() % 3 == 0) request.prompt[random() % request.prompt.size()] = random() % kEnd;
    request.params.seed = random() % 3;
    alone.push_back(Plain(request.prompt, request.params));
    if (random() % 2 == 0) {
      request.drafters.push_back(std::make_unique<NgramDrafter>(NgramOptions{4, 1}));
    }
    if (random() % 4 == 0) request.cache_salt = salt;
    requests.push_back(std::move(request));
  }
  Engine engine = MakeEngine(24, 200, true, 6);
  std::vector<Engine::RequestId> ids;
  for (EngineRequest& request : requests) {
    ids.push_back(engine.Submit(std::move(request)).value());
    for (unsigned steps = random() % 12; steps > 0; --steps) engine.Step();
    if (random() % 8 == 0) engine.Cancel(ids.back());
  }
  int64_t cached = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    const EngineResult result = Finish(engine, ids[i]);
    cached += result.stats.cached_tokens;
    if (result.reason == FinishReason::kCancelled) continue;
    EXPECT_EQ(result.tokens, alone[i]) << i;
  }
  EXPECT_GT(cached, 500);
  EXPECT_EQ(engine.pool().free_blocks(), 24);
}

TEST_F(EngineTest, CancelFreesEverythingAndLeavesOthersAlone) {
  Engine engine = MakeEngine(64, 300);
  const auto alone = Plain(MakeRequest(20, 60));
  const auto stays = engine.Submit(MakeRequest(20, 60)).value();
  const auto queued = engine.Submit(MakeRequest(200, 60)).value();
  engine.Step();
  engine.Cancel(queued);
  EXPECT_EQ(Finish(engine, queued).reason, FinishReason::kCancelled);
  EXPECT_EQ(Finish(engine, stays).tokens, alone);
  EXPECT_EQ(engine.pool().free_blocks(), 64);
  EXPECT_FALSE(engine.Step()) << "nothing is left to do";
}

// bugs.md 15 and 37: a full hit commits k + 1 tokens a pass, and accepted never exceeds drafted.
TEST_F(EngineTest, CountsOfRightWrongAndNoGuesses) {
  const auto plain = Plain(MakeRequest(20, 21));
  Engine engine = MakeEngine(64, 300);
  const auto right = Finish(engine, engine.Submit(MakeRequest(20, 21, Right(plain))).value()).stats;
  EXPECT_EQ(right.target_passes, 4);  // 20 tokens after the first, 5 a pass
  EXPECT_EQ(right.draft_tokens, 16);
  EXPECT_EQ(right.accepted_tokens, 16);
  EXPECT_EQ(right.accepted_per_position, (std::vector<int64_t>{4, 4, 4, 4}));
  EXPECT_EQ(right.decode_tokens, 20);

  auto wrong = std::make_unique<ScriptedDrafter>(
      TrueContinuation(plain, kVocab, [](size_t) { return true; }));
  const auto none =
      Finish(engine, engine.Submit(MakeRequest(20, 21, std::move(wrong))).value()).stats;
  EXPECT_EQ(none.target_passes, 20);
  EXPECT_EQ(none.accepted_tokens, 0);
  EXPECT_GT(none.draft_tokens, 0);

  const auto off = Finish(engine, engine.Submit(MakeRequest(20, 21)).value()).stats;
  EXPECT_EQ(off.target_passes, 20);
  EXPECT_EQ(off.draft_tokens, 0);
  EXPECT_EQ(off.drafts, 0);
}

TEST_F(EngineTest, PartialHitsCommitWhatWasRight) {
  const auto plain = Plain(MakeRequest(20, 21));
  // The fourth guess of every five tokens is wrong: 3 accepted + 1.
  auto partial = std::make_unique<ScriptedDrafter>(
      TrueContinuation(plain, kVocab, [&](size_t position) { return (position - 21) % 4 == 3; }));
  Engine engine = MakeEngine(64, 300);
  const auto result =
      Finish(engine, engine.Submit(MakeRequest(20, 21, std::move(partial))).value());
  EXPECT_EQ(result.tokens, plain);
  EXPECT_EQ(result.stats.target_passes, 5);
}

// bugs.md 3 and 4: an end token in a draft is a proposal; an accepted one ends the text at once.
TEST_F(EngineTest, EndTokensInsideADraft) {
  FakeTarget forced = fake_;
  forced.Force(26, kEnd);
  FakeKvTarget target(forced, 64, kLimits);
  Engine engine(
      target, {.vocab_size = kVocab, .max_model_len = 300, .kv_blocks = 64, .end_tokens = {kEnd}});
  auto request = MakeRequest(20, 40);
  request.params.ignore_eos = false;
  const auto plain = Finish(engine, engine.Submit(std::move(request)).value());
  ASSERT_EQ(plain.tokens.size(), 27u);
  EXPECT_EQ(plain.reason, FinishReason::kStop);
  std::vector<TokenId> beyond = plain.tokens;
  for (int i = 0; i < 20; ++i) beyond.push_back(i);
  for (int k = 1; k <= 8; ++k) {
    request = MakeRequest(20, 40, Right(beyond), k);
    request.params.ignore_eos = false;
    const auto guessed = Finish(engine, engine.Submit(std::move(request)).value());
    EXPECT_EQ(guessed.tokens, plain.tokens) << k;
    EXPECT_EQ(guessed.reason, FinishReason::kStop);
  }
  const auto end_everywhere = [](std::span<const TokenId>, const ProposeLimits&) {
    DraftTree tree;
    tree.Add(kEnd, -1, 1);
    return tree;
  };
  request = MakeRequest(20, 40, std::make_unique<ScriptedDrafter>(end_everywhere));
  request.params.ignore_eos = false;
  EXPECT_EQ(Finish(engine, engine.Submit(std::move(request)).value()).tokens, plain.tokens);
}

// bugs.md 5: a stop and the cap in one block, either order; a cap of one.
TEST_F(EngineTest, TheEarliestEventWins) {
  const auto plain = Plain(MakeRequest(20, 30));
  const auto run = [&](int max_tokens, size_t stop_after) {
    Engine engine = MakeEngine(64, 300);
    auto request = MakeRequest(20, max_tokens, Right(plain), 8);
    size_t seen = 0;
    request.filter = [&, stop_after](const CommittedToken&) {
      return ++seen == stop_after ? FilterAnswer::kStop : FilterAnswer::kGoOn;
    };
    const auto result = Finish(engine, engine.Submit(std::move(request)).value());
    EXPECT_EQ(seen, result.tokens.size() - 20) << "the filter sees just what is committed";
    return std::pair(result.tokens.size() - 20, result.reason);
  };
  EXPECT_EQ(run(5, 3), std::pair(size_t{3}, FinishReason::kStop));
  EXPECT_EQ(run(5, 7), std::pair(size_t{5}, FinishReason::kLength));
  EXPECT_EQ(run(5, 5), std::pair(size_t{5}, FinishReason::kStop));
  EXPECT_EQ(run(1, 9), std::pair(size_t{1}, FinishReason::kLength));
}

TEST_F(EngineTest, AFailingDrafterIsDroppedAndCountedAndTheTextStays) {
  const auto plain = Plain(MakeRequest(20, 40));
  Engine engine = MakeEngine(64, 300);
  for (int call : {0, 1, 3}) {
    auto drafter = std::make_unique<ScriptedDrafter>(TrueContinuation(plain, kVocab));
    drafter->FailFrom(call);
    const auto result =
        Finish(engine, engine.Submit(MakeRequest(20, 40, std::move(drafter))).value());
    EXPECT_EQ(result.tokens, plain);
    EXPECT_EQ(result.stats.drafter_errors, 1);
  }
  auto drafter = std::make_unique<ScriptedDrafter>(TrueContinuation(plain, kVocab));
  drafter->FailStart();
  const auto result =
      Finish(engine, engine.Submit(MakeRequest(20, 40, std::move(drafter))).value());
  EXPECT_EQ(result.tokens, plain);
  EXPECT_EQ(result.stats.drafter_errors, 1);
}

TEST_F(EngineTest, OneOfTwoDraftersFailsAndTheOtherGoesOn) {
  const auto plain = Plain(MakeRequest(20, 40));
  auto broken = std::make_unique<ScriptedDrafter>(TrueContinuation(plain, kVocab));
  broken->FailFrom(0);
  std::vector<std::unique_ptr<Drafter>> parts;
  parts.push_back(std::move(broken));
  parts.push_back(Right(plain));
  EngineRequest request = MakeRequest(20, 40);
  request.drafters = std::move(parts);
  Engine engine = MakeEngine(64, 300);
  const auto result = Finish(engine, engine.Submit(std::move(request)).value());
  EXPECT_EQ(result.tokens, plain);
  EXPECT_EQ(result.stats.drafter_errors, 1);
  EXPECT_GT(result.stats.accepted_tokens, 0);
  ASSERT_EQ(result.stats.drafters.size(), 2u);
  EXPECT_EQ(result.stats.drafters[0].failures, 1);
  EXPECT_EQ(result.stats.drafters[1].failures, 0);
  EXPECT_EQ(result.stats.drafters[1].accepted_tokens, result.stats.accepted_tokens);
}

// Two drafters, each right where the other is wrong: their trees are one.
TEST_F(EngineTest, TreesOfTwoDraftersAreMerged) {
  const auto plain = Plain(MakeRequest(20, 41));
  EngineRequest request = MakeRequest(20, 41, nullptr, 8);
  for (const size_t wrong : {0, 1}) {
    request.drafters.push_back(std::make_unique<ScriptedDrafter>(TrueContinuation(
        plain, kVocab, [wrong](size_t position) { return position % 3 == wrong; })));
  }
  Engine engine = MakeEngine(64, 300);
  const auto result = Finish(engine, engine.Submit(std::move(request)).value());
  EXPECT_EQ(result.tokens, plain);
  EXPECT_GE(result.stats.accepted_tokens, result.stats.target_passes);
  EXPECT_GT(result.stats.drafters[0].accepted_tokens, 0);
  EXPECT_GT(result.stats.drafters[1].accepted_tokens, 0);
}

TEST_F(EngineTest, DraftersAreReplacedBetweenStepsAndTheTextStays) {
  const auto plain = Plain(MakeRequest(20, 60));
  Engine engine = MakeEngine(64, 300);
  const auto id =
      engine.Submit(MakeRequest(20, 60, std::make_unique<NgramDrafter>(NgramOptions{}))).value();
  const BudgetOptions budget = {.policy = Policy::kFixed, .fixed_nodes = 3};
  for (int step = 0; step < 8; ++step) engine.Step();
  std::vector<std::unique_ptr<Drafter>> drafters;
  drafters.push_back(Right(plain));
  engine.SetDrafters(id, std::move(drafters), budget);
  for (int step = 0; step < 4; ++step) engine.Step();
  engine.SetDrafters(id, {}, budget);
  engine.Step();
  const auto result = Finish(engine, id);
  EXPECT_EQ(result.tokens, plain);
  ASSERT_EQ(result.stats.drafters.size(), 2u);
  EXPECT_EQ(result.stats.drafters[1].name, "scripted");
  EXPECT_EQ(result.stats.drafters[1].accepted_tokens, 12);
}

// bugs.md 10: past the draft model's own context it proposes nothing.
TEST_F(EngineTest, ADraftModelWithASmallContextStopsDrafting) {
  FakeKvTarget small(fake_, 4, kLimits);
  for (size_t prompt : {size_t{50}, size_t{63}, size_t{64}, size_t{200}}) {
    const auto plain = Plain(MakeRequest(prompt, 60));
    BlockPool pool(4);
    Engine engine = MakeEngine(64, 300);
    auto drafter =
        std::make_unique<DraftModel>(small, pool, kVocab, 64, std::vector<TokenId>{kEnd});
    const auto result =
        Finish(engine, engine.Submit(MakeRequest(prompt, 60, std::move(drafter))).value());
    EXPECT_EQ(result.tokens, plain) << prompt;
    EXPECT_EQ(result.stats.drafter_errors, 0) << prompt;
    EXPECT_EQ(pool.free_blocks(), 4) << prompt;
  }
}

// The draft model's KV is rolled back where its guesses were rejected (k = 4, wrong at the first).
TEST_F(EngineTest, ADraftModelThatIsOftenWrongReadsNothingStale) {
  FakeKvTarget other(FakeTarget(kVocab, 999), 64, kLimits);
  const auto plain = Plain(MakeRequest(20, 60));
  BlockPool pool(64);
  Engine engine = MakeEngine(64, 300);
  auto drafter = std::make_unique<DraftModel>(other, pool, kVocab, 300, std::vector<TokenId>{kEnd});
  const auto result =
      Finish(engine, engine.Submit(MakeRequest(20, 60, std::move(drafter))).value());
  EXPECT_EQ(result.tokens, plain);
  EXPECT_GT(result.stats.draft_tokens, result.stats.accepted_tokens);
}

// A draft tree's accepted nodes move to their places; a chain's are there already.
TEST_F(EngineTest, OnlyTreesMoveSlots) {
  const auto plain = Plain(MakeRequest(20, 30));
  Engine engine = MakeEngine(64, 300);
  Finish(engine, engine.Submit(MakeRequest(20, 30, Right(plain))).value());
  EXPECT_EQ(target_.moves, 0);
  const auto siblings = [&](std::span<const TokenId> committed, const ProposeLimits&) {
    DraftTree tree;
    const size_t at = committed.size();
    if (at + 1 >= plain.size()) return tree;
    tree.Add((plain[at] + 1) % kVocab, -1, 0.5f);
    const int right = tree.Add(plain[at], -1, 0.5f);
    tree.Add((plain[at + 1] + 1) % kVocab, right, 0.5f);
    tree.Add(plain[at + 1], right, 0.5f);
    return tree;
  };
  const auto result = Finish(
      engine,
      engine.Submit(MakeRequest(20, 30, std::make_unique<ScriptedDrafter>(siblings))).value());
  EXPECT_EQ(result.tokens, plain);
  EXPECT_GT(target_.moves, 0);
}

TEST_F(EngineTest, WrongRequestsAreRefusedWithAReason) {
  Engine engine = MakeEngine(64, 100);
  const auto message = [&](EngineRequest request) {
    const auto id = engine.Submit(std::move(request));
    return id.ok() ? std::string("accepted") : id.error().message;
  };
  EXPECT_THAT(message(EngineRequest{}), testing::HasSubstr("empty"));
  EXPECT_THAT(message(MakeRequest(100, 5)), testing::HasSubstr("no room"));
  auto outside = MakeRequest(5, 5);
  outside.prompt[2] = kVocab;
  EXPECT_THAT(message(std::move(outside)), testing::HasSubstr("outside the vocabulary"));
  auto hot = MakeRequest(5, 5);
  hot.params.temperature = -1;
  EXPECT_THAT(message(std::move(hot)), testing::HasSubstr("temperature"));
}

TEST_F(EngineTest, AFullContextEndsWithLength) {
  Engine engine = MakeEngine(64, 99);
  const auto result = Finish(
      engine, engine.Submit(MakeRequest(98, -1, std::make_unique<NgramDrafter>(NgramOptions{4, 1})))
                  .value());
  EXPECT_EQ(result.tokens.size(), 99u);
  EXPECT_EQ(result.reason, FinishReason::kLength);
}

}  // namespace
}  // namespace hunch

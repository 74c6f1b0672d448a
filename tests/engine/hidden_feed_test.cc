// What drafters are handed of the target's hidden states: those of every committed position, once
// it is known what follows it, whatever else the step did. The fake target's hidden states tell
// which prefix they are of.
#include "engine/hidden_feed.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <random>

#include "draft/ngram.h"
#include "support/engine_fixture.h"

namespace hunch {
namespace {

using Ids = std::vector<TokenId>;
using Hidden = std::array<float, FakeKvTarget::kHidden>;
constexpr int kLayers[] = {1, 4};

class FakeReader : public HiddenReader {
 public:
  explicit FakeReader(int max_rows) {
    for (size_t tap = 0; tap < std::size(kLayers); ++tap) {
      copies_[tap].resize(static_cast<size_t>(max_rows * FakeKvTarget::kHidden));
      taps_.push_back({kLayers[tap], copies_[tap].data()});
    }
  }
  std::span<const HiddenTap> taps() const override { return taps_; }
  void Read() override {
    EXPECT_GT(laid, 0) << "nobody laid anything";
    laid = 0;
    ++reads;
  }
  Hidden At(size_t tap, int row) const {
    const float* from = copies_[tap].data() + row * FakeKvTarget::kHidden;
    return {from[0], from[1]};
  }

  int laid = 0;
  int reads = 0;

 private:
  std::vector<float> copies_[std::size(kLayers)];
  std::vector<HiddenTap> taps_;
};

// What a request's drafter was handed; outlives it.
struct Record {
  int next = 0;      // position after the last one handed
  int gap = 0;       // positions that never came, before the first
  int repeated = 0;  // positions that came again
  int over = 0;
  bool fails = false;  // from now on
};

// Guesses what a script says, and compares what it is handed with the sequence.
class ComparingDrafter : public ScriptedDrafter, public HiddenDrafter {
 public:
  ComparingDrafter(Script script, FakeReader& reader, Record& record)
      : ScriptedDrafter(std::move(script)), reader_(reader), record_(record) {}
  HiddenDrafter* hidden_drafter() override { return this; }
  HiddenReader& reader() override { return reader_; }
  Status TakeHidden(const HiddenRows& given) override {
    if (record_.fails) return Error{ErrorCode::kInternal, "told to fail"};
    const int count = static_cast<int>(given.rows.size());
    EXPECT_GT(count, 0);
    EXPECT_LT(given.first + count, static_cast<int>(given.committed.size()));
    if (record_.next == 0) record_.gap = given.first;
    if (record_.next > 0) {
      EXPECT_LE(given.first, record_.next);
      record_.repeated += std::min(count, record_.next - given.first);
    }
    for (int i = 0; i < count; ++i) {
      for (size_t tap = 0; tap < std::size(kLayers); ++tap) {
        Hidden wanted;
        FakeKvTarget::Hidden(given.committed.first(given.first + i + 1), kLayers[tap],
                             wanted.data());
        EXPECT_EQ(reader_.At(tap, given.rows[i]), wanted) << "position " << given.first + i;
      }
    }
    record_.next = std::max(record_.next, given.first + count);
    record_.over += given.over;
    ++reader_.laid;
    return Ok{};
  }

 private:
  FakeReader& reader_;
  Record& record_;
};

// Compares what it is handed, as ComparingDrafter.
class ComparingSink : public HiddenSink {
 public:
  explicit ComparingSink(int max_rows) : copies_(max_rows) {}
  std::span<const HiddenTap> taps() const override { return copies_.taps(); }
  void Take(const SinkSequence& sequence, const HiddenRows& given) override {
    int& next = next_of[sequence.id];
    EXPECT_LE(given.first, next);
    for (size_t i = 0; i < given.rows.size(); ++i) {
      Hidden wanted;
      FakeKvTarget::Hidden(given.committed.first(given.first + i + 1), kLayers[1], wanted.data());
      EXPECT_EQ(copies_.At(1, given.rows[i]), wanted);
    }
    next = std::max(next, given.first + static_cast<int>(given.rows.size()));
    prompts[sequence.id] = sequence.prompt;
    over += given.over;
  }

  std::map<int64_t, int> next_of, prompts;  // by sequence
  int over = 0;

 private:
  FakeReader copies_;
};

class HiddenFeedTest : public EngineFixture {
 protected:
  // Trees with right and wrong guesses in them.
  ScriptedDrafter::Script Bushy(const Ids& whole, uint32_t seed) const {
    return [whole, random = std::mt19937(seed)](std::span<const TokenId> committed,
                                                const ProposeLimits& limits) mutable {
      DraftTree tree;
      int32_t right = -1;
      for (size_t at = committed.size(); tree.size() < limits.max_nodes && at < whole.size();
           ++at) {
        if (random() % 2 == 0) tree.Add((whole[at] + 1) % kVocab, right, 0.5f);
        if (tree.size() == limits.max_nodes) break;
        right = tree.Add(whole[at], right, 0.5f);
      }
      return tree;
    };
  }
  std::unique_ptr<Drafter> Comparing(const Ids& whole, Record& record, uint32_t seed = 1) {
    return std::make_unique<ComparingDrafter>(Bushy(whole, seed), reader_, record);
  }

  FakeReader reader_{kLimits.max_rows};
};

TEST_F(HiddenFeedTest, EveryCommittedPositionIsHanded) {
  // The longest prompt is read in four passes, beside what the others decode.
  const int prompts[] = {5, 40, 110};
  Record records[3];
  std::vector<Ids> whole;
  Engine engine = MakeEngine(64, 300);
  std::vector<Engine::RequestId> ids;
  for (int i = 0; i < 3; ++i) {
    whole.push_back(Plain(MakeRequest(prompts[i], 50)));
    ids.push_back(
        engine.Submit(MakeRequest(prompts[i], 50, Comparing(whole[i], records[i], i))).value());
  }
  int64_t accepted = 0;
  for (int i = 0; i < 3; ++i) {
    const EngineResult result = Finish(engine, ids[i]);
    EXPECT_EQ(result.tokens, whole[i]);
    EXPECT_EQ(result.stats.drafter_errors, 0);
    accepted += result.stats.accepted_tokens;
    EXPECT_EQ(records[i].gap, 0);
    EXPECT_EQ(records[i].repeated, 0);
    EXPECT_EQ(records[i].over, 1);
    EXPECT_EQ(records[i].next, prompts[i] + 50 - 1);
  }
  EXPECT_GT(accepted, 40);
  EXPECT_GT(reader_.reads, 10);
}

TEST_F(HiddenFeedTest, WhatIsReadAgainIsHandedAgain) {
  Engine engine = MakeEngine(9, 140);
  Record records[3];
  std::vector<Ids> whole;
  std::vector<Engine::RequestId> ids;
  for (int i = 0; i < 3; ++i) {
    whole.push_back(Plain(MakeRequest(30 + i, 80)));
    ids.push_back(engine.Submit(MakeRequest(30 + i, 80, Comparing(whole[i], records[i]))).value());
  }
  int repeated = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Finish(engine, ids[i]).tokens, whole[i]);
    EXPECT_EQ(records[i].next, 30 + i + 80 - 1);
    repeated += records[i].repeated;
  }
  EXPECT_GT(engine.totals().preemptions, 0);
  EXPECT_GT(repeated, 0);
}

TEST_F(HiddenFeedTest, WhatThePrefixCacheHadNeverComes) {
  Engine engine = MakeEngine(64, 300, true);
  const Ids whole = Plain(MakeRequest(50, 30));
  Record first, second;
  const auto run = [&](Record& record) {
    const auto id = engine.Submit(MakeRequest(50, 30, Comparing(whole, record))).value();
    EXPECT_EQ(Finish(engine, id).tokens, whole);
    EXPECT_EQ(record.next, 79);
  };
  run(first);
  EXPECT_EQ(first.gap, 0);
  run(second);
  EXPECT_EQ(second.gap, 48);
}

TEST_F(HiddenFeedTest, AnEndInsideAnAcceptedPathEndsWhatIsHanded) {
  EngineRequest free = MakeRequest(20, 40);
  const Ids whole = Plain(std::move(free));
  for (size_t end_at = 21; end_at < 40; ++end_at) {
    Record record;
    Engine engine = MakeEngine(64, 300);
    EngineRequest request = MakeRequest(20, 40, Comparing(whole, record, 7), 6);
    request.params.stop_token_ids = {whole[end_at]};
    const EngineResult result = Finish(engine, engine.Submit(std::move(request)).value());
    EXPECT_EQ(record.next, static_cast<int>(result.tokens.size()) - 1);
  }
}

TEST_F(HiddenFeedTest, ADrafterThatComesLaterStartsBehindAGap) {
  const Ids whole = Plain(MakeRequest(20, 60));
  Engine engine = MakeEngine(64, 300);
  const auto id = engine.Submit(MakeRequest(20, 60)).value();
  for (int step = 0; step < 10; ++step) engine.Step();
  Record record;
  std::vector<std::unique_ptr<Drafter>> drafters;
  drafters.push_back(Comparing(whole, record));
  engine.SetDrafters(id, std::move(drafters), {.policy = Policy::kFixed, .fixed_nodes = 4});
  EXPECT_EQ(Finish(engine, id).tokens, whole);
  EXPECT_GT(record.gap, 20);
  EXPECT_EQ(record.next, 79);
}

TEST_F(HiddenFeedTest, OneThatFailsIsDroppedAndTheOthersGoOn) {
  Record failing, other;
  const Ids whole = Plain(MakeRequest(20, 60)), second = Plain(MakeRequest(33, 60));
  Engine engine = MakeEngine(64, 300);
  const auto a = engine.Submit(MakeRequest(20, 60, Comparing(whole, failing))).value();
  const auto b = engine.Submit(MakeRequest(33, 60, Comparing(second, other))).value();
  for (int step = 0; step < 6; ++step) engine.Step();
  failing.fails = true;
  const int next = failing.next;
  const EngineResult result = Finish(engine, a);
  EXPECT_EQ(result.tokens, whole);
  EXPECT_EQ(result.stats.drafter_errors, 1);
  EXPECT_EQ(failing.next, next);
  EXPECT_EQ(Finish(engine, b).tokens, second);
  EXPECT_EQ(other.next, 92);
}

// With drafters that read hidden states, with others and without any; but only who names it.
TEST_F(HiddenFeedTest, ASinkIsHandedAllThatIsCommitted) {
  ComparingSink sink(kLimits.max_rows);
  Record record;
  std::vector<Ids> whole;
  for (const int prompt : {5, 40, 60, 20}) whole.push_back(Plain(MakeRequest(prompt, 50)));
  Engine engine = MakeEngine(14, 140);
  std::vector<EngineRequest> requests;
  requests.push_back(MakeRequest(5, 50, Comparing(whole[0], record)));
  requests.push_back(MakeRequest(40, 50, Right(whole[1])));
  requests.push_back(MakeRequest(60, 50));
  requests.push_back(MakeRequest(20, 50));
  std::vector<Engine::RequestId> ids;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (i < 3) requests[i].sink = &sink;
    ids.push_back(engine.Submit(std::move(requests[i])).value());
  }
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(Finish(engine, ids[i]).tokens, whole[i]);
  EXPECT_GT(engine.totals().preemptions, 0);
  EXPECT_EQ(sink.next_of, (std::map<int64_t, int>{{ids[0], 54}, {ids[1], 89}, {ids[2], 109}}));
  EXPECT_EQ(sink.prompts, (std::map<int64_t, int>{{ids[0], 5}, {ids[1], 40}, {ids[2], 60}}));
  EXPECT_EQ(sink.over, 3);
  EXPECT_EQ(record.next, 54);
}

// Requests without such drafters cost no copies.
TEST_F(HiddenFeedTest, NothingIsTappedWhereNobodyReads) {
  HiddenFeed feed;
  feed.Begin();
  Budget budget{CostCurve(std::vector<PassTime>{{1, 1e-3}})};
  std::vector<std::unique_ptr<Drafter>> drafters;
  drafters.push_back(std::make_unique<NgramDrafter>(NgramOptions{4, 1}));
  Speculator plain(budget, {}, kVocab, std::move(drafters));
  feed.Add(plain);
  EXPECT_TRUE(feed.Taps().empty());
}

}  // namespace
}  // namespace hunch

// The learner by its decisions: when it trains, swaps, keeps and swaps back, and what it leaves in
// its folder. Training, replays and the server are dictated.
#include "session/learner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "support/files.h"

namespace hunch {
namespace {

using testing::HasSubstr;

constexpr SegmentKind kKind = {{32, 2}, 5};

class FakeRound : public LearnRound {
 public:
  FakeRound(std::optional<bool>& ended, int& alive) : ended_(ended), alive_(alive) { ++alive_; }
  ~FakeRound() override { --alive_; }
  std::optional<bool> Ended() override { return ended_; }

 private:
  std::optional<bool>& ended_;
  int& alive_;
};

class LearnerTest : public testing::Test {
 protected:
  LearnerTest() {
    hooks_.score = [this](const std::string& head, const LearnedTexts& texts,
                          const std::atomic<bool>&) -> Result<PassesNeeded> {
      texts_compared_ = texts.size();
      const auto found = rates_.find(Name(head));
      if (found == rates_.end()) return Error{ErrorCode::kBadFile, head + ": is broken"};
      return PassesNeeded{.passes = 1000, .tokens = static_cast<int64_t>(found->second * 1000)};
    };
    hooks_.train = [this](const std::string& from,
                          const std::string& to) -> Result<std::unique_ptr<LearnRound>> {
      trained_from_.push_back(Name(from));
      dir_.Write("learn/" + std::filesystem::path(to).filename().string(), "a head");
      return std::unique_ptr<LearnRound>(std::make_unique<FakeRound>(round_ended_, rounds_alive_));
    };
    hooks_.swap = [this](const std::string& head) -> Status {
      if (swap_error_) return *swap_error_;
      in_use_ = head;
      return Ok{};
    };
    hooks_.in_use = [this] { return in_use_; };
    hooks_.guesses = [this] { return guesses_; };
    dir_.Write("first.gguf", "a head");
  }

  static std::string Name(const std::string& path) {
    return std::filesystem::path(path).filename().string();
  }
  bool Has(const std::string& name) const {
    return std::filesystem::exists(dir_.Path("learn/" + name));
  }
  Learner& learner() {
    if (!learner_) {
      LearnOptions options = {.folder = dir_.Path("learn"),
                              .head = in_use_,
                              .least_new_tokens = 400,
                              .least_pause = 0,
                              .policy = policy_};
      learner_ = Learner::Create(options, hooks_, ring_, kKind).value();
    }
    return *learner_;
  }
  // Texts with answers of 50 tokens.
  void Answer(int texts) {
    for (int text = 0; text < texts; ++text, ++sequence_) {
      for (int at = 0; at < 69; ++at) {
        const auto slot = ring_.Claim();
        ASSERT_TRUE(slot);
        slot->label = {.sequence = sequence_,
                       .position = at,
                       .token = at,
                       .next = at + 1,
                       .prompt = 20,
                       .last = at == 68};
        ring_.Publish();
      }
      learner().Keep();
    }
  }
  LearnPhase Look() {
    learner().Look();
    return learner().stats().phase;
  }
  // A comparison runs on a thread of its own.
  LearnPhase LookUntilCompared() {
    const int64_t before = learner().stats().comparisons;
    while (learner().stats().comparisons == before) learner().Look();
    return learner().stats().phase;
  }
  // Up to the trial of the first candidate.
  void SwapIn() {
    rates_ = {{"first.gguf", 2.0}, {"head-1.gguf", 2.2}};
    Answer(12);
    ASSERT_EQ(Look(), LearnPhase::kTrains);
    round_ended_ = true;
    guesses_ = {1000, 600};
    ASSERT_EQ(LookUntilCompared(), LearnPhase::kOnTrial);
    ASSERT_EQ(Name(in_use_), "head-1.gguf");
  }
  void Guess(int64_t verified, double share) {
    guesses_.verified += verified;
    guesses_.accepted += static_cast<int64_t>(share * static_cast<double>(verified));
  }

  const TempDir dir_;
  RowRing ring_{kKind.layout.row_bytes(), 100};
  SwapPolicy policy_ = {.least_replayed = 100, .least_guesses = 100};
  LearnHooks hooks_;
  std::map<std::string, double> rates_;  // tokens per pass in replays, by file
  std::string in_use_ = dir_.Path("first.gguf");
  GuessCounts guesses_;
  std::optional<bool> round_ended_;
  std::optional<Error> swap_error_;
  std::vector<std::string> trained_from_;
  int rounds_alive_ = 0;
  size_t texts_compared_ = 0;
  int64_t sequence_ = 1;
  std::unique_ptr<Learner> learner_;
};

TEST_F(LearnerTest, TrainsWhenThereIsEnoughNewText) {
  EXPECT_EQ(Look(), LearnPhase::kGathers);
  Answer(9);  // two of them are held out, and 350 tokens are to learn from
  EXPECT_EQ(Look(), LearnPhase::kGathers);
  Answer(2);
  EXPECT_EQ(Look(), LearnPhase::kTrains);
  EXPECT_EQ(trained_from_, std::vector<std::string>{"first.gguf"});
  const LearnStats stats = learner().stats();
  EXPECT_EQ(stats.rows, 11 * 69);
  EXPECT_EQ(stats.rows_dropped, 0);
  EXPECT_EQ(stats.texts, 11);
  EXPECT_EQ(stats.held_out, 3);
  EXPECT_EQ(stats.answer_tokens, 11 * 50);
  EXPECT_EQ(stats.rounds, 1);
  EXPECT_GT(stats.segment_bytes, 0u);
  // What is held out is nowhere on the disk.
  const SegmentReader kept = SegmentReader::Open(dir_.Path("learn"), kKind, 100, 10'000).value();
  EXPECT_EQ(kept.texts().size(), 8u);
  EXPECT_EQ(Look(), LearnPhase::kTrains) << "the round runs";
}

TEST_F(LearnerTest, DoesNotTrainWhatItCouldNotCompare) {
  policy_.least_replayed = 200;
  Answer(20);  // four of them are held out, and 196 of their tokens are guessed
  EXPECT_EQ(Look(), LearnPhase::kGathers);
  Answer(1);
  EXPECT_EQ(Look(), LearnPhase::kTrains);
}

TEST_F(LearnerTest, SwapsABetterHeadInAndKeepsItWhenItProvesItself) {
  SwapIn();
  EXPECT_EQ(texts_compared_, 3u);
  EXPECT_EQ(learner().stats().swaps, 1);
  EXPECT_EQ(learner().stats().replayed_before, 2.0);
  EXPECT_EQ(learner().stats().replayed_after, 2.2);
  EXPECT_EQ(Look(), LearnPhase::kOnTrial) << "nothing was guessed yet";
  Guess(500, 0.65);
  EXPECT_EQ(Look(), LearnPhase::kGathers);
  EXPECT_TRUE(Has("head.gguf"));
  EXPECT_TRUE(Has("head-1.gguf"));
  EXPECT_TRUE(std::filesystem::exists(dir_.Path("first.gguf"))) << "that is the user's";
  // The next one goes on from it and, when it passes, takes its place.
  round_ended_.reset();
  Answer(12);
  ASSERT_EQ(Look(), LearnPhase::kTrains);
  EXPECT_EQ(trained_from_.back(), "head-1.gguf");
  rates_["head-2.gguf"] = 2.5;
  round_ended_ = true;
  EXPECT_EQ(LookUntilCompared(), LearnPhase::kOnTrial);
  Guess(500, 0.7);
  EXPECT_EQ(Look(), LearnPhase::kGathers);
  EXPECT_FALSE(Has("head-1.gguf"));
  EXPECT_TRUE(Has("head-2.gguf"));
  EXPECT_EQ(learner().stats().swaps, 2);
  EXPECT_EQ(learner().stats().rollbacks, 0);
}

TEST_F(LearnerTest, ACandidateThatIsNoBetterIsDropped) {
  rates_ = {{"first.gguf", 2.0}, {"head-1.gguf", 2.01}};
  Answer(12);
  ASSERT_EQ(Look(), LearnPhase::kTrains);
  round_ended_ = true;
  EXPECT_EQ(LookUntilCompared(), LearnPhase::kGathers);
  EXPECT_EQ(Name(in_use_), "first.gguf");
  EXPECT_FALSE(Has("head-1.gguf"));
  EXPECT_EQ(learner().stats().swaps, 0);
}

TEST_F(LearnerTest, SwapsBackWhenItIsWorseInServiceAndOnWhatWasSaidSince) {
  SwapIn();
  rates_ = {{"first.gguf", 1.9}, {"head-1.gguf", 1.8}};
  Answer(10);
  Guess(5000, 0.4);
  EXPECT_EQ(Look(), LearnPhase::kDoubts);
  EXPECT_EQ(LookUntilCompared(), LearnPhase::kGathers);
  EXPECT_EQ(texts_compared_, 2u) << "those since the swap";
  EXPECT_EQ(Name(in_use_), "first.gguf");
  EXPECT_FALSE(Has("head-1.gguf"));
  EXPECT_FALSE(Has("head.gguf"));
  EXPECT_EQ(learner().stats().rollbacks, 1);
  EXPECT_EQ(learner().stats().head, dir_.Path("first.gguf"));
}

TEST_F(LearnerTest, WaitsForTextBeforeItSwapsBackButNotForEver) {
  SwapIn();
  rates_ = {{"first.gguf", 1.9}, {"head-1.gguf", 1.8}};
  Guess(500, 0.3);
  EXPECT_EQ(Look(), LearnPhase::kOnTrial) << "there is nothing to compare them on";
  Guess(5000, 0.3);
  EXPECT_EQ(Look(), LearnPhase::kDoubts);
  EXPECT_EQ(LookUntilCompared(), LearnPhase::kGathers);
  EXPECT_EQ(learner().stats().rollbacks, 1);
}

TEST_F(LearnerTest, StaysWhenOnlyTheTextGotHarder) {
  SwapIn();
  rates_ = {{"first.gguf", 1.4}, {"head-1.gguf", 1.5}};
  Answer(10);
  Guess(5000, 0.4);
  EXPECT_EQ(Look(), LearnPhase::kDoubts);
  EXPECT_EQ(LookUntilCompared(), LearnPhase::kGathers);
  EXPECT_EQ(Name(in_use_), "head-1.gguf");
  EXPECT_EQ(learner().stats().rollbacks, 0);
}

TEST_F(LearnerTest, ARoundThatFailsCostsARound) {
  for (int round = 1; round <= 2; ++round) {
    Answer(12);
    ASSERT_EQ(Look(), LearnPhase::kTrains);
    round_ended_ = false;
    EXPECT_EQ(Look(), LearnPhase::kGathers);
    EXPECT_EQ(learner().stats().failed_rounds, round);
    EXPECT_EQ(rounds_alive_, 0);
    round_ended_.reset();
  }
  EXPECT_EQ(Name(in_use_), "first.gguf");
}

TEST_F(LearnerTest, AFileThatCannotBeReadIsDropped) {
  rates_ = {{"first.gguf", 2.0}};
  Answer(12);
  ASSERT_EQ(Look(), LearnPhase::kTrains);
  round_ended_ = true;
  EXPECT_EQ(LookUntilCompared(), LearnPhase::kGathers);
  EXPECT_FALSE(Has("head-1.gguf"));
  EXPECT_EQ(learner().stats().swaps, 0);
}

TEST_F(LearnerTest, ASwapThatFailsChangesNothing) {
  rates_ = {{"first.gguf", 2.0}, {"head-1.gguf", 2.2}};
  swap_error_ = Error{ErrorCode::kResourceExhausted, "no memory"};
  Answer(12);
  ASSERT_EQ(Look(), LearnPhase::kTrains);
  round_ended_ = true;
  EXPECT_EQ(LookUntilCompared(), LearnPhase::kGathers);
  EXPECT_EQ(learner().stats().swaps, 0);
  EXPECT_FALSE(Has("head-1.gguf"));
}

TEST_F(LearnerTest, WhatIsChosenByHandStays) {
  SwapIn();
  in_use_ = "other.gguf";
  EXPECT_EQ(Look(), LearnPhase::kPaused);
  Answer(20);
  EXPECT_EQ(Look(), LearnPhase::kPaused);
  EXPECT_EQ(in_use_, "other.gguf");
  in_use_ = dir_.Path("learn/head-1.gguf");
  EXPECT_EQ(Look(), LearnPhase::kGathers);
}

TEST_F(LearnerTest, ItsEndEndsTheRound) {
  Answer(12);
  ASSERT_EQ(Look(), LearnPhase::kTrains);
  EXPECT_EQ(rounds_alive_, 1);
  learner().Stop();
  EXPECT_EQ(rounds_alive_, 0);
}

TEST_F(LearnerTest, AnotherRunBeginsWithTheHeadThatItIsGiven) {
  for (const char* name : {"head-3.gguf", "head-4.gguf", "head.gguf"}) {
    dir_.Write(std::string("learn/") + name, "a head");
  }
  in_use_ = dir_.Path("learn/head-4.gguf");
  learner();
  EXPECT_FALSE(Has("head-3.gguf"));
  EXPECT_TRUE(Has("head-4.gguf"));
  EXPECT_TRUE(Has("head.gguf"));
}

TEST_F(LearnerTest, AFolderOfAnotherHeadIsRefused) {
  Answer(3);
  learner_.reset();
  const auto other = Learner::Create({.folder = dir_.Path("learn")}, hooks_, ring_, {{32, 2}, 6});
  EXPECT_THAT(other.error().message, HasSubstr("name another folder"));
}

}  // namespace
}  // namespace hunch

// Tests of AcceptCoupled on trees of every shape, and of the counts a step reports.
#include "verify/accept.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "support/fake_drafters.h"
#include "support/fake_target.h"

namespace hunch {
namespace {

constexpr int kVocab = 10;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Rows given by the token that wins in each; a row that must not be read holds kNone.
constexpr TokenId kNone = -1;

struct Rows {
  explicit Rows(const std::vector<TokenId>& winners) {
    for (const TokenId winner : winners) {
      for (TokenId token = 0; token < kVocab; ++token) {
        data.push_back(winner == kNone ? kNan : token == winner ? 5.0f : 0.0f);
      }
    }
  }
  LogitsRows view() const { return {data.data(), kVocab, kVocab}; }
  std::vector<float> data;  // [rows][kVocab]
};

Verdict AcceptOf(const DraftTree& tree, const LogitsRows& rows, std::span<const TokenId> committed,
                 Sampler& sampler) {
  Verdict verdict;
  verdict.tokens.resize(3);  // what an earlier step left there
  verdict.path = {0, 1};
  verdict.prefix = {5};
  AcceptCoupled(tree, rows, committed, sampler, verdict);
  return verdict;
}

Verdict Accept(const DraftTree& tree, const std::vector<TokenId>& winners) {
  Sampler sampler({}, kVocab, 2, {});
  const Rows rows(winners);
  return AcceptOf(tree, rows.view(), std::vector<TokenId>{1, 2}, sampler);
}

std::vector<TokenId> Tokens(const Verdict& verdict) {
  std::vector<TokenId> tokens;
  for (const TokenChoice& choice : verdict.tokens) tokens.push_back(choice.token);
  return tokens;
}

using Path = std::vector<int32_t>;
using Ids = std::vector<TokenId>;

TEST(AcceptCoupledTest, AnEmptyTreeGivesTheTargetsToken) {
  const Verdict verdict = Accept({}, {7});
  EXPECT_EQ(Tokens(verdict), (Ids{7}));
  EXPECT_EQ(verdict.path, Path{});
}

TEST(AcceptCoupledTest, AFullHitGivesOneTokenMore) {
  const Verdict verdict = Accept(ChainOf(Ids{3, 4, 5}), {3, 4, 5, 6});
  EXPECT_EQ(Tokens(verdict), (Ids{3, 4, 5, 6}));
  EXPECT_EQ(verdict.path, (Path{0, 1, 2}));
}

TEST(AcceptCoupledTest, APartialHitStopsAtTheFirstDifference) {
  // Rows behind the difference are not read.
  const Verdict verdict = Accept(ChainOf(Ids{3, 4, 5, 6}), {3, 8, kNone, kNone, kNone});
  EXPECT_EQ(Tokens(verdict), (Ids{3, 8}));
  EXPECT_EQ(verdict.path, (Path{0}));
}

TEST(AcceptCoupledTest, AMissGivesTheTargetsToken) {
  const Verdict verdict = Accept(ChainOf(Ids{3, 4}), {9, kNone, kNone});
  EXPECT_EQ(Tokens(verdict), (Ids{9}));
  EXPECT_EQ(verdict.path, Path{});
}

TEST(AcceptCoupledTest, WalksToTheBranchThatTheTargetTakes) {
  //      3          4
  //     / \         |
  //    5   6        6
  //        |
  //        7
  DraftTree tree;
  tree.Add(3, -1, 1);
  tree.Add(4, -1, 1);
  tree.Add(5, 0, 1);
  tree.Add(6, 1, 1);
  tree.Add(6, 0, 1);
  tree.Add(7, 4, 1);
  const Verdict last = Accept(tree, {3, 6, kNone, kNone, kNone, 7, 1});
  EXPECT_EQ(Tokens(last), (Ids{3, 6, 7, 1}));
  EXPECT_EQ(last.path, (Path{0, 4, 5}));
  const Verdict other = Accept(tree, {4, kNone, 6, kNone, 2, kNone, kNone});
  EXPECT_EQ(Tokens(other), (Ids{4, 6, 2}));
  EXPECT_EQ(other.path, (Path{1, 3}));
}

TEST(AcceptCoupledTest, OfEqualSiblingsTheFirstIsTaken) {
  DraftTree tree;
  tree.Add(3, -1, 1);
  tree.Add(3, -1, 1);
  tree.Add(4, 1, 1);
  const Verdict verdict = Accept(tree, {3, 4, kNone, kNone});
  EXPECT_EQ(Tokens(verdict), (Ids{3, 4}));
  EXPECT_EQ(verdict.path, (Path{0}));
}

TEST(AcceptCoupledTest, EachRowSeesItsOwnPrefix) {
  // With a frequency penalty of 2 and logits 5, 4 and 0 the target alternates; a row judged with
  // the history of another one would break the alternation.
  SamplingParams params;
  params.frequency_penalty = 2;
  std::vector<float> data;
  for (int row = 0; row < 5; ++row) {
    for (int token = 0; token < kVocab; ++token)
      data.push_back(token == 1 ? 5 : token == 2 ? 4 : 0);
  }
  Sampler sampler(params, kVocab, 1, {});
  const Verdict verdict = AcceptOf(ChainOf(Ids{1, 2, 1, 2}), {data.data(), kVocab, kVocab},
                                   std::vector<TokenId>{0}, sampler);
  // 5 4 -> 1; 3 4 -> 2; 3 2 -> 1; 1 2 -> 2; 1 0 -> 1
  EXPECT_EQ(Tokens(verdict), (Ids{1, 2, 1, 2, 1}));
}

TEST(AcceptCoupledTest, ReadsRowsThroughTheStride) {
  std::vector<float> data(3 * 16, 0.0f);
  data[3] = data[16 + 4] = data[32 + 5] = 5;
  data[12] = 99;  // padding
  Sampler sampler({}, kVocab, 0, {});
  const Verdict verdict = AcceptOf(ChainOf(Ids{3, 4}), {data.data(), 16, kVocab}, {}, sampler);
  EXPECT_EQ(Tokens(verdict), (Ids{3, 4, 5}));
}

// Rates that a step reports, from known hits: (hits per step, what is drafted).
class StepCountsTest : public testing::Test {
 protected:
  FakeRun Run(int max_tokens, ScriptedDrafter::Script script, int nodes = 4) {
    params_.max_tokens = max_tokens;
    ScriptedDrafter drafter(std::move(script));
    FakeLimits limits;
    limits.max_nodes = nodes;
    return RunFake(target_, prompt_, params_, &drafter, limits);
  }
  std::vector<TokenId> Whole(int max_tokens) {
    params_.max_tokens = max_tokens;
    std::vector<TokenId> whole = prompt_;
    for (const TokenId token : RunFake(target_, prompt_, params_, nullptr, {}).tokens) {
      whole.push_back(token);
    }
    return whole;
  }
  FakeTarget target_{96, 5};
  std::vector<TokenId> prompt_ = target_.Prompt(8);
  SamplingParams params_;
};

TEST_F(StepCountsTest, FullHitsCommitOneMoreThanDrafted) {
  const std::vector<TokenId> whole = Whole(40);
  const FakeRun run = Run(20, TrueContinuation(whole, 96));
  ASSERT_EQ(run.steps.size(), 4u);
  for (const FakeStep& step : run.steps) {
    EXPECT_EQ(step.drafted, 4);
    EXPECT_EQ(step.accepted, 4);
    EXPECT_EQ(step.committed, 5);
  }
  // 21: the last step has room for one token, so nothing is drafted and nothing wasted.
  const FakeRun odd = Run(21, TrueContinuation(whole, 96));
  ASSERT_EQ(odd.steps.size(), 5u);
  EXPECT_EQ(odd.steps.back().drafted, 0);
  EXPECT_EQ(odd.steps.back().committed, 1);
  EXPECT_EQ(odd.accepted, odd.drafted);
}

TEST_F(StepCountsTest, PartialHitsMissesAndEmptyDrafts) {
  const std::vector<TokenId> whole = Whole(40);
  // Every fourth token is guessed wrong: three of four accepted, four committed.
  const size_t start = prompt_.size();
  const FakeRun partial =
      Run(20, TrueContinuation(whole, 96, [start](size_t at) { return (at - start) % 4 == 3; }));
  ASSERT_EQ(partial.steps.size(), 5u);
  for (const FakeStep& step : partial.steps) {
    EXPECT_EQ(step.accepted, 3);
    EXPECT_EQ(step.committed, 4);
  }
  const FakeRun miss = Run(12, TrueContinuation(whole, 96, [](size_t) { return true; }));
  EXPECT_EQ(miss.accepted, 0);
  EXPECT_EQ(miss.steps.size(), 12u);
  const FakeRun empty = Run(12, [](auto, const auto&) { return DraftTree{}; });
  EXPECT_EQ(empty.drafted, 0);
  EXPECT_EQ(empty.steps.size(), 12u);
  for (const FakeRun* run : {&partial, &miss, &empty}) {
    EXPECT_EQ(run->tokens, std::vector<TokenId>(
                               whole.begin() + static_cast<ptrdiff_t>(start),
                               whole.begin() + static_cast<ptrdiff_t>(start + run->tokens.size())));
  }
}

// Emitted tokens are the accepted ones and one of the target's own per step, less what a stop cut
// off.
TEST_F(StepCountsTest, AcceptedNeverExceedsDraftedAndTheSumsFit) {
  const std::vector<TokenId> whole = Whole(80);
  for (const int max_tokens : {1, 2, 7, 64}) {
    const FakeRun run =
        Run(max_tokens, TrueContinuation(whole, 96, [](size_t at) { return at % 5 == 0; }), 7);
    int committed = 0;
    for (const FakeStep& step : run.steps) {
      EXPECT_GE(step.accepted, 0);
      EXPECT_LE(step.accepted, step.drafted);
      EXPECT_EQ(step.committed, step.accepted + 1);
      committed += step.committed;
    }
    EXPECT_EQ(committed, max_tokens);
    EXPECT_EQ(run.tokens.size(), static_cast<size_t>(max_tokens));
  }
}

}  // namespace
}  // namespace hunch

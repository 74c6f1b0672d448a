// Tests of prompt lookup: what it proposes, what it forgets, and that it stays cheap.
#include "draft/ngram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "draft/tree_checks.h"
#include "support/fake_target.h"

namespace hunch {
namespace {

using Ids = std::vector<TokenId>;

DraftTree Propose(NgramDrafter& drafter, const Ids& committed, ProposeLimits limits = {8, 8, 0}) {
  DraftTree tree;
  EXPECT_TRUE(drafter.Propose(committed, limits, tree).ok());
  ExpectSound(tree, limits);
  return tree;
}

DraftTree GuessTree(const Ids& prompt, NgramOptions options = {},
                    ProposeLimits limits = {8, 8, 0}) {
  NgramDrafter drafter(options);
  EXPECT_TRUE(drafter.Start(prompt, {}).ok());
  return Propose(drafter, prompt, limits);
}

// Where there can be but one chain.
Ids Guess(const Ids& prompt, NgramOptions options = {}, ProposeLimits limits = {8, 8, 0}) {
  const DraftTree tree = GuessTree(prompt, options, limits);
  for (int node = 0; node < tree.size(); ++node) EXPECT_EQ(tree.parents[node], node - 1);
  return tree.tokens;
}

TEST(NgramDrafterTest, ProposesWhatFollowedTheLastTokens) {
  EXPECT_EQ(Guess({1, 2, 3, 4, 5, 6, 9, 1, 2}, {}, {3, 8, 0}), (Ids{3, 4, 5}));
}

TEST(NgramDrafterTest, WithoutAMatchNothing) {
  EXPECT_TRUE(Guess({1, 2, 3, 4}).empty());
  EXPECT_TRUE(Guess({1, 2, 3, 4, 2}).empty());  // one token is shorter than prompt_lookup_min
  EXPECT_TRUE(Guess({}).empty());
  EXPECT_TRUE(Guess({1}).empty());
  EXPECT_EQ(Guess({1, 2, 3, 4, 2}, {4, 1}, {2, 8, 0}), (Ids{3, 4}));
}

TEST(NgramDrafterTest, TheLongestMatchComesFirst) {
  // "2 3" occurs later with 8 behind it, but "1 2 3" with 7.
  EXPECT_EQ(Guess({1, 2, 3, 7, 0, 2, 3, 8, 0, 1, 2, 3}, {}, {1, 8, 0}), (Ids{7}));
  EXPECT_EQ(Guess({1, 2, 3, 7, 0, 2, 3, 8, 0, 1, 2, 3}, {2, 2}, {1, 8, 0}), (Ids{8}));
}

TEST(NgramDrafterTest, OfEqualMatchesTheMostRecent) {
  EXPECT_EQ(Guess({1, 2, 7, 1, 2, 8, 0, 1, 2}, {}, {1, 8, 0}), (Ids{8}));
}

// "1 2" was followed by 8 9, by 7 5 and before that by 7 6.
TEST(NgramDrafterTest, OccurrencesThatPartMakeBranches) {
  const Ids prompt = {1, 2, 7, 6, 40, 1, 2, 7, 5, 41, 1, 2, 8, 9, 42, 1, 2};
  const DraftTree tree = GuessTree(prompt, {}, {32, 2, 0});
  EXPECT_EQ(PathsOf(tree), (std::vector<Ids>{{8}, {7}, {8, 9}, {7, 5}, {7, 6}}));
  // The first node is that of the most recent one, and with one node it is alone.
  EXPECT_EQ(Guess(prompt, {}, {1, 8, 0}), (Ids{8}));
  // Of shorter matches what the longer ones did not say.
  EXPECT_EQ(PathsOf(GuessTree({3, 1, 2, 7, 0, 1, 2, 8, 0, 3, 1, 2}, {}, {2, 1, 0})),
            (std::vector<Ids>{{7}, {8}}));
}

TEST(NgramDrafterTest, SiblingsSumToAtMostOne) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    Ids prompt(60);
    for (TokenId& token : prompt) token = static_cast<TokenId>(random() % 4);
    const DraftTree tree = GuessTree(prompt, {4, 1}, {64, 8, 0});
    EXPECT_GT(tree.size(), 30);
    ExpectSiblingsSumToAtMostOne(tree);
  }
}

TEST(NgramDrafterTest, ReadsOnInItsOwnGuesses) {
  EXPECT_EQ(Guess({5, 1, 2, 3, 1, 2, 3, 1, 2}), (Ids{3, 1, 2, 3, 1, 2, 3, 1}));
  EXPECT_EQ(Guess({4, 4, 4, 4, 4}, {}, {3, 8, 0}), (Ids{4, 4, 4}));
}

TEST(NgramDrafterTest, KeepsToItsLimits) {
  const Ids prompt = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2};
  EXPECT_EQ(Guess(prompt, {}, {4, 8, 0}).size(), 4u);
  EXPECT_EQ(Guess(prompt, {}, {8, 3, 0}).size(), 3u);
  EXPECT_EQ(Guess(prompt, {}, {8, 0, 0}).size(), 0u);
  EXPECT_EQ(Guess(prompt, {}, {0, 8, 0}).size(), 0u);
  EXPECT_EQ(Guess(prompt, {}, {8, 8, 1.0f}).size(), 0u);
  const Ids some = Guess(prompt, {}, {8, 8, 0.3f});
  EXPECT_GT(some.size(), 0u);
  EXPECT_LT(some.size(), 8u);
}

TEST(NgramDrafterTest, LongerMatchesAreBelievedMore) {
  float last = 0;
  for (const int length : {2, 3, 4, 8, 16}) {
    Ids tokens;
    for (int i = 0; i < length; ++i) tokens.push_back(100 + i);
    tokens.insert(tokens.end(), {1, 2});
    for (int i = 0; i < length; ++i) tokens.push_back(100 + i);
    NgramDrafter drafter({});
    const float belief = Propose(drafter, tokens).probabilities.at(0);
    EXPECT_GT(belief, last) << length;
    EXPECT_LT(belief, 1);
    last = belief;
  }
}

TEST(NgramDrafterTest, FindsMatchesInTheOutput) {
  NgramDrafter drafter({});
  Ids sequence = {1, 2, 3};
  ASSERT_TRUE(drafter.Start(sequence, {}).ok());
  EXPECT_TRUE(Propose(drafter, sequence).empty());
  for (const TokenId token : {7, 8, 9, 7, 8}) {
    sequence.push_back(token);
    drafter.Observe({{}, {}, sequence});
  }
  EXPECT_EQ(Propose(drafter, sequence, {2, 8, 0}).tokens, (Ids{9, 7}));
}

// Where it looks, is the sequence that it is handed: whatever it indexed before, and without
// Observe.
TEST(NgramDrafterTest, OnlyProposesWhatStandsInTheSequence) {
  std::mt19937 random(3);
  NgramDrafter drafter({4, 1});
  ASSERT_TRUE(drafter.Start(Ids{50, 51, 52, 50}, {}).ok());
  int proposed = 0;
  for (int round = 0; round < 500; ++round) {
    Ids sequence(random() % 40);  // another, longer or shorter sequence each time, without Forget
    for (TokenId& token : sequence) token = static_cast<TokenId>(random() % 6);
    for (const TokenId token : Propose(drafter, sequence).tokens) {
      EXPECT_NE(std::find(sequence.begin(), sequence.end(), token), sequence.end());
      ++proposed;
    }
  }
  EXPECT_GT(proposed, 100);
}

// Another request's text is never proposed, and what came before changes no count.
TEST(NgramDrafterTest, ARequestLeavesNothingBehind) {
  const FakeTarget target(64, 8);
  SamplingParams params;
  params.max_tokens = 60;
  const Ids long_prompt = target.Prompt(300);
  Ids prompt;
  for (int i = 0; i < 40; ++i) prompt.push_back(10 + i % 3);
  const auto run = [&](NgramDrafter& drafter, const Ids& tokens) {
    return RunFake(target, tokens, params, &drafter, {});
  };
  NgramDrafter fresh({}), used({});
  const FakeRun alone = run(fresh, prompt);
  run(used, long_prompt);
  for (int repeat = 0; repeat < 3; ++repeat) {
    const FakeRun after = run(used, prompt);
    EXPECT_EQ(after.tokens, alone.tokens);
    EXPECT_EQ(after.drafted, alone.drafted);
    EXPECT_EQ(after.accepted, alone.accepted);
  }
  EXPECT_GT(alone.drafted, 0);
  // Without Forget in between: Start is a new sequence.
  ASSERT_TRUE(used.Start(Ids{1, 2, 3, 4, 5}, {}).ok());
  ASSERT_TRUE(used.Start(Ids{1, 2}, {}).ok());
  EXPECT_TRUE(Propose(used, {1, 2}).empty());
}

// "ping " forty times: guesses of any length, the same text.
TEST(NgramDrafterTest, RepeatedWordsStayLossless) {
  const FakeTarget target(64, 6);
  SamplingParams params;
  params.max_tokens = 64;
  const Ids prompt(40, 17);
  const FakeRun plain = RunFake(target, prompt, params, nullptr, {});
  for (const int nodes : {1, 2, 4, 7, 15}) {
    NgramDrafter drafter({});
    FakeLimits limits;
    limits.max_nodes = nodes;
    const FakeRun run = RunFake(target, prompt, params, &drafter, limits);
    EXPECT_EQ(run.tokens, plain.tokens) << nodes;
    EXPECT_GT(run.accepted, 0);
  }
}

TEST(NgramDrafterTest, ValidatesItsOptions) {
  EXPECT_TRUE(NgramDrafter::Validate({}).ok());
  EXPECT_TRUE(NgramDrafter::Validate({1, 1}).ok());
  EXPECT_TRUE(NgramDrafter::Validate({NgramDrafter::kLargestN, 1}).ok());
  for (const NgramOptions& bad :
       {NgramOptions{4, 0}, NgramOptions{2, 3}, NgramOptions{NgramDrafter::kLargestN + 1, 2},
        NgramOptions{-1, -2}}) {
    const Status status = NgramDrafter::Validate(bad);
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find("prompt_lookup_min"), std::string::npos);
  }
}

TEST(NgramIndexTest, FindsTheLastEndThroughGrowth) {
  std::mt19937 random(5);
  NgramIndex index(3);
  Ids tokens;
  for (int i = 0; i < 3000; ++i) tokens.push_back(static_cast<TokenId>(random() % 20));
  for (size_t end = 3; end < tokens.size(); ++end) index.Put(tokens, end);
  int found = 0;
  for (size_t size = 3; size < tokens.size(); ++size) {
    const std::span<const TokenId> prefix = std::span(tokens).first(size);
    int64_t last = -1;  // over the whole sequence: that is what was put
    for (size_t end = 3; end < tokens.size(); ++end) {
      if (std::equal(tokens.begin() + static_cast<ptrdiff_t>(end - 3),
                     tokens.begin() + static_cast<ptrdiff_t>(end), prefix.end() - 3)) {
        last = static_cast<int64_t>(end);
      }
    }
    // Two n-grams with one 32-bit hash would show here: 8000 n-grams, so one run in a hundred,
    // fixed seed.
    ASSERT_EQ(index.Find(prefix), last);
    found += last >= 0;
  }
  EXPECT_GT(found, 1000);
  // The ends before it, each time further back.
  const Ids last(tokens.end() - 3, tokens.end());
  Ids ends;
  for (int64_t end = index.Find(tokens); end >= 0; end = index.Previous(end)) {
    ends.push_back(static_cast<TokenId>(end));
  }
  Ids expected;
  for (size_t end = tokens.size() - 1; end >= 3; --end) {
    if (std::equal(last.begin(), last.end(), tokens.begin() + static_cast<ptrdiff_t>(end - 3))) {
      expected.push_back(static_cast<TokenId>(end));
    }
  }
  EXPECT_EQ(ends, expected);
  EXPECT_EQ(index.Find(Ids{500, 501, 502}), -1);
  EXPECT_EQ(index.Find(Ids{1, 2}), -1);
  index.Clear();
  EXPECT_EQ(index.Find(tokens), -1);
}

// Not quadratic: 32k tokens one by one, a proposal each; with a scan of the sequence that would be
// 10^9 steps.
TEST(NgramDrafterTest, CostsTheSameAtTheEndOfALongSequence) {
  std::mt19937 random(9);
  Ids sequence(32768);
  for (TokenId& token : sequence) token = static_cast<TokenId>(random() % 300);
  NgramDrafter drafter({});
  ASSERT_TRUE(drafter.Start(std::span(sequence).first(16), {}).ok());
  DraftTree tree;
  int proposed = 0;
  for (size_t size = 16; size < sequence.size(); ++size) {
    ASSERT_TRUE(drafter.Propose(std::span(sequence).first(size), {4, 4, 0}, tree).ok());
    proposed += !tree.empty();
  }
  EXPECT_GT(proposed, 1000);
}

}  // namespace
}  // namespace hunch

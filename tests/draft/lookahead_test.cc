// Tests of lookahead: step by step against the paper's algorithm written out plainly, and on trees
// that the engine changed.
#include "draft/lookahead.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "draft/toy_steps.h"

namespace hunch {
namespace {

using Ids = std::vector<TokenId>;

constexpr ProposeLimits kRoomy = {64, 64, 0};

// The algorithm of arXiv 2402.02057 as the authors' implementation has it, with lists: no tree,
// each guess read after a prefix of its own.
class PlainLookahead {
 public:
  PlainLookahead(const ToySteps& target, LookaheadOptions options, Ids level0)
      : target_(target), options_(options), text_(target.committed), levels_{std::move(level0)} {
    for (size_t i = 0; i + options.ngram <= text_.size(); ++i) {
      Keep(text_[i], Ids(text_.begin() + i + 1, text_.begin() + i + options.ngram));
    }
  }

  // The tokens that a step appends.
  Ids Step() {
    const TokenId last = text_.back();
    const size_t top = levels_.size() - 1;
    const bool full = static_cast<int>(levels_.size()) == options_.ngram - 1;
    // What the target says after the last level of each column.
    std::vector<Ids> branches;
    Ids said;
    for (size_t column = 0; column <= levels_[0].size(); ++column) {
      branches.push_back(Ids(levels_[0].begin(), levels_[0].begin() + column));
      for (size_t level = 1; level <= top; ++level)
        branches.back().push_back(levels_[level][column]);
      said.push_back(After(branches.back()));
    }
    // Verification: the longest of the pool's n-grams that is the target's own text; the window's
    // branches lie in the same tree and may be it too.
    for (const Ids& ngram : pool_[last]) branches.push_back(ngram);
    Ids accepted;
    for (const Ids& branch : branches) {
      Ids right;
      for (const TokenId token : branch) {
        if (After(right) != token) break;
        right.push_back(token);
      }
      if (right.size() > accepted.size()) accepted = right;
    }
    accepted.push_back(After(accepted));
    if (full) {
      for (size_t column = 0; column < said.size(); ++column) {
        Ids ngram;
        for (size_t level = 1; level <= top; ++level) ngram.push_back(levels_[level][column]);
        ngram.push_back(said[column]);
        Keep(column == 0 ? last : levels_[0][column - 1], ngram);
      }
      levels_[0] = Ids(levels_[1].begin() + 1, levels_[1].end());
      for (size_t level = 1; level < top; ++level) levels_[level] = levels_[level + 1];
      levels_[top] = said;
    } else {
      for (Ids& level : levels_) level.erase(level.begin());
      levels_.push_back(Ids(said.begin() + 1, said.end()));
    }
    text_.insert(text_.end(), accepted.begin(), accepted.end());
    return accepted;
  }

  const std::vector<Ids>& levels() const { return levels_; }
  // The latest first.
  std::vector<Ids> Pool(TokenId first) {
    return std::vector<Ids>(pool_[first].rbegin(), pool_[first].rend());
  }

 private:
  TokenId After(const Ids& path) const {
    Ids prefix = text_;
    prefix.insert(prefix.end(), path.begin(), path.end());
    return target_.Best(prefix, 1).front();
  }
  void Keep(TokenId first, const Ids& rest) {
    std::vector<Ids>& list = pool_[first];
    list.erase(std::remove(list.begin(), list.end(), rest), list.end());
    list.push_back(rest);
    if (static_cast<int>(list.size()) > options_.guesses) list.erase(list.begin());
  }

  const ToySteps& target_;
  LookaheadOptions options_;
  Ids text_;
  std::vector<Ids> levels_;
  std::map<TokenId, std::vector<Ids>> pool_;  // the latest last
};

Ids Level(const LookaheadDrafter& drafter, int level) {
  return {drafter.level(level).begin(), drafter.level(level).end()};
}

class LookaheadPaper : public testing::TestWithParam<LookaheadOptions> {};

TEST_P(LookaheadPaper, EveryStepIsThePapers) {
  const LookaheadOptions options = GetParam();
  constexpr int kVocab = 48;
  int accepted = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    const FakeTarget target(kVocab, seed);
    ToySteps steps(target, target.Prompt(seed == 1 ? 1 : 15));
    LookaheadDrafter drafter(options);
    ASSERT_TRUE(drafter.Start(steps.committed, {}).ok());
    ASSERT_EQ(Level(drafter, 0).size(), static_cast<size_t>(options.window + options.ngram - 3));
    PlainLookahead plain(steps, options, Level(drafter, 0));
    for (int step = 0; step < 40; ++step) {
      const Ids wanted = plain.Step();
      const ToySteps::Step done = steps.Run(drafter, kRoomy);
      CheckTree(done.tree, kRoomy);
      ASSERT_EQ(done.appended, wanted) << "step " << step;
      ASSERT_EQ(static_cast<size_t>(drafter.levels()), plain.levels().size());
      for (int level = 0; level < drafter.levels(); ++level)
        ASSERT_EQ(Level(drafter, level), plain.levels()[level]) << "step " << step;
      for (TokenId first = 0; first < kVocab; ++first) {
        const std::vector<Ids> ngrams = plain.Pool(first);
        ASSERT_EQ(drafter.pool().Count(first), static_cast<int>(ngrams.size()));
        for (size_t i = 0; i < ngrams.size(); ++i) {
          const auto got = drafter.pool().Get(first, static_cast<int>(i));
          ASSERT_EQ(Ids(got.begin(), got.end()), ngrams[i]);
        }
      }
      accepted += static_cast<int>(done.path.size());
    }
    // Once full, the window has its size.
    EXPECT_EQ(Level(drafter, 0).size(), static_cast<size_t>(options.window - 1));
    for (int level = 1; level < drafter.levels(); ++level)
      EXPECT_EQ(Level(drafter, level).size(), static_cast<size_t>(options.window));
  }
  EXPECT_GT(accepted, 10);
}

INSTANTIATE_TEST_SUITE_P(Shapes, LookaheadPaper,
                         testing::Values(LookaheadOptions{}, LookaheadOptions{1, 3, 1},
                                         LookaheadOptions{3, 3, 2}, LookaheadOptions{4, 6, 3},
                                         LookaheadOptions{10, 4, 4}));

void Keep(DraftTree& tree, const std::vector<int32_t>& kept) {
  const DraftTree old = tree;
  tree.clear();
  std::map<int32_t, int32_t> place = {{-1, -1}};
  for (const int32_t node : kept) {
    if (!place.contains(old.parents[node])) continue;
    place[node] = tree.Add(old.tokens[node], place[old.parents[node]], old.probabilities[node]);
  }
}

// Nodes are found by their tokens: another order and other drafters' nodes change nothing.
TEST(LookaheadTest, TreesMayBeRenumberedAndMerged) {
  const FakeTarget target(48, 3);
  const Ids prompt = target.Prompt(15);
  LookaheadDrafter one({}), other({});
  ToySteps steps(target, prompt), changed(target, prompt);
  ASSERT_TRUE(one.Start(prompt, {}).ok());
  ASSERT_TRUE(other.Start(prompt, {}).ok());
  for (int i = 0; i < 30; ++i) {
    steps.Run(one, kRoomy);
    changed.Run(other, kRoomy, [](DraftTree& tree) {
      // Siblings in reverse: by depth, then by falling index.
      std::vector<int32_t> depth(static_cast<size_t>(tree.size()));
      for (int node = 0; node < tree.size(); ++node)
        depth[node] = tree.parents[node] < 0 ? 0 : depth[tree.parents[node]] + 1;
      std::vector<int32_t> order(static_cast<size_t>(tree.size()));
      std::iota(order.rbegin(), order.rend(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](int32_t a, int32_t b) { return depth[a] < depth[b]; });
      Keep(tree, order);
      tree.Add(47, tree.size() - 1, 0.1f);
    });
    ASSERT_EQ(steps.committed, changed.committed);
    for (int level = 0; level < one.levels(); ++level)
      ASSERT_EQ(Level(one, level), Level(other, level));
  }
}

TEST(LookaheadTest, ColumnsThatWereCutYieldNothing) {
  const FakeTarget target(48, 4);
  LookaheadDrafter drafter({});
  ToySteps steps(target, target.Prompt(15));
  ASSERT_TRUE(drafter.Start(steps.committed, {}).ok());
  std::mt19937 random(5);
  int accepted = 0;
  for (int i = 0; i < 80; ++i) {
    const ProposeLimits limits = {static_cast<int>(random() % 40), static_cast<int>(random() % 9),
                                  0};
    const auto step = steps.Run(drafter, limits, [&](DraftTree& tree) {
      CheckTree(tree, limits);
      std::vector<int32_t> kept;
      for (int node = 0; node < tree.size(); ++node) {
        if (random() % 4 != 0) kept.push_back(node);
      }
      Keep(tree, kept);
    });
    accepted += static_cast<int>(step.path.size());
    ASSERT_GE(drafter.levels(), 1);
    for (int level = 0; level < drafter.levels(); ++level) {
      for (const TokenId token : Level(drafter, level)) ASSERT_TRUE(token >= 0 && token < 48);
    }
  }
  EXPECT_GT(accepted, 5);
  EXPECT_EQ(drafter.levels(), 3);
}

TEST(LookaheadTest, PlainStepsLeaveTheWindowAsItIs) {
  const FakeTarget target(48, 4);
  LookaheadDrafter drafter({});
  ToySteps steps(target, target.Prompt(15));
  ASSERT_TRUE(drafter.Start(steps.committed, {}).ok());
  for (int i = 0; i < 6; ++i) steps.Run(drafter, kRoomy);
  const Ids before = Level(drafter, 1);
  steps.Run(drafter, {0, 0, 0});
  EXPECT_EQ(Level(drafter, 1), before);
  drafter.Observe({{}, {}, steps.committed});  // nobody looked at the rows
  EXPECT_EQ(Level(drafter, 1), before);
}

TEST(LookaheadTest, ProposesThePromptsNgrams) {
  LookaheadDrafter drafter({});
  const Ids prompt = {1, 2, 3, 4, 5, 1};
  ASSERT_TRUE(drafter.Start(prompt, {}).ok());
  DraftTree tree;
  ASSERT_TRUE(drafter.Propose(prompt, {3, 8, 0}, tree).ok());
  EXPECT_EQ(tree.tokens, (Ids{2, 3, 4}));
  EXPECT_EQ(tree.parents, (std::vector<int32_t>{-1, 0, 1}));
}

int PassesFor(const FakeTarget& target, const Ids& prompt, LookaheadDrafter& drafter) {
  ToySteps steps(target, prompt);
  EXPECT_TRUE(drafter.Start(prompt, {}).ok());
  int passes = 0;
  for (; steps.committed.size() < prompt.size() + 60; ++passes) steps.Run(drafter, kRoomy);
  drafter.Forget();
  return passes;
}

TEST(LookaheadTest, ARequestLeavesNothingBehind) {
  const FakeTarget target(48, 6);
  const Ids prompt = target.Prompt(10);
  LookaheadDrafter fresh({}), used({});
  const int alone = PassesFor(target, prompt, fresh);
  EXPECT_LT(alone, 55);
  PassesFor(target, target.Prompt(200), used);
  DraftTree tree;
  ASSERT_TRUE(used.Propose(prompt, kRoomy, tree).ok());
  EXPECT_TRUE(tree.empty());
  EXPECT_EQ(PassesFor(target, prompt, used), alone);
}

TEST(LookaheadTest, ValidatesItsOptions) {
  EXPECT_TRUE(LookaheadDrafter::Validate({}).ok());
  EXPECT_TRUE(LookaheadDrafter::Validate({1, 3, 1}).ok());
  EXPECT_TRUE(LookaheadDrafter::Validate({15, 4, 6}).ok());  // 62 nodes
  for (const LookaheadOptions& bad :
       {LookaheadOptions{0, 4, 5}, LookaheadOptions{5, 2, 5}, LookaheadOptions{5, 4, 0},
        LookaheadOptions{16, 4, 6}, LookaheadOptions{1 << 30, 1 << 30, 1 << 30}}) {
    const Status status = LookaheadDrafter::Validate(bad);
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find("guesses"), std::string::npos);
  }
}

}  // namespace
}  // namespace hunch

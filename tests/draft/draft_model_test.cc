// Tests of the draft model: what it guesses, what it reads, what it keeps. The fake target reads a
// row's prefix back from the KV slots that the row may see, so a wrong slot shows in the guesses.
#include "draft/draft_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "support/chi_square.h"
#include "support/fake_kv_target.h"
#include "verify/accept_ratio.h"

namespace hunch {
namespace {

using Ids = std::vector<TokenId>;

constexpr int kVocab = 48;
constexpr int kBlocks = 64;
constexpr ForwardLimits kLimits = {.max_rows = 24, .max_logit_rows = 4};
constexpr ProposeLimits kEight = {.max_nodes = 8, .max_depth = 100, .min_path_probability = 0};

class DraftModelTest : public testing::Test {
 protected:
  std::unique_ptr<DraftModel> Make(const TreeDrafterOptions& options, int context = 500,
                                   Ids ends = {}) {
    return std::make_unique<DraftModel>(target_, pool_, kVocab, context, std::move(ends), options);
  }
  std::unique_ptr<DraftModel> Started(const TreeDrafterOptions& options) {
    auto drafter = Make(options);
    EXPECT_TRUE(drafter->Start(prompt_, params_).ok());
    return drafter;
  }
  std::vector<float> RowAfter(const Ids& prefix) const {
    std::vector<float> row(kVocab);
    fake_.Row(prefix, row);
    return row;
  }
  static Ids PrefixOf(const Ids& committed, const DraftTree& tree, int32_t node) {
    Ids path;
    for (int32_t at = node; at >= 0; at = tree.parents[at]) path.push_back(tree.tokens[at]);
    Ids prefix = committed;
    prefix.insert(prefix.end(), path.rbegin(), path.rend());
    return prefix;
  }
  // Each node's children are the best of the row that really follows it.
  void ExpectTrueGuesses(const Ids& committed, const DraftTree& tree, int branches) {
    Sampler sampler(params_, kVocab, prompt_.size(), {});
    std::vector<Candidate> best;
    for (int32_t parent = -1; parent < tree.size(); ++parent) {
      const Ids prefix = PrefixOf(committed, tree, parent);
      sampler.TopPerturbed(prefix, RowAfter(prefix), branches, best);
      size_t child = 0;
      for (int32_t node = parent + 1; node < tree.size(); ++node) {
        if (tree.parents[node] != parent) continue;
        ASSERT_LT(child, best.size());
        EXPECT_EQ(tree.tokens[node], best[child++].token) << "node " << node;
        EXPECT_EQ(tree.laws[node], DraftTree::kCertain);
      }
    }
  }

  FakeTarget fake_{kVocab, 5};
  FakeKvTarget target_{fake_, kBlocks, kLimits};
  BlockPool pool_{kBlocks};
  SamplingParams params_;
  Ids prompt_ = fake_.Prompt(40);
  DraftTree tree_;
};

TEST_F(DraftModelTest, AChainTakesAPassForEachGuess) {
  const auto drafter = Started({});
  ASSERT_TRUE(drafter->Propose(prompt_, {4, 100, 0}, tree_).ok());
  EXPECT_EQ(tree_.parents, (std::vector<int32_t>{-1, 0, 1, 2}));
  ExpectTrueGuesses(prompt_, tree_, 1);
  // The prompt of 40 in two passes, then one for each guess but the last, which is not read.
  EXPECT_EQ(target_.passes, 2 + 3);
  EXPECT_EQ(drafter->passes(), target_.passes);
}

TEST_F(DraftModelTest, ATreeGrowsWhereItIsLikely) {
  for (const float temperature : {0.0f, 0.8f}) {
    params_.temperature = temperature;
    const auto drafter = Started({.branches = 3, .expand = 2});
    Ids committed = prompt_;
    int branched = 0;
    for (int step = 0; step < 20; ++step) {
      const int64_t passes = drafter->passes();
      ASSERT_TRUE(drafter->Propose(committed, kEight, tree_).ok());
      EXPECT_EQ(tree_.size(), 8);
      EXPECT_LE(drafter->passes() - passes, 8 + 1);
      ExpectTrueGuesses(committed, tree_, 3);
      for (int32_t node = 0; node < tree_.size(); ++node)
        branched += tree_.parents[node] < node - 1;
      committed.push_back(tree_.tokens[0]);
    }
    EXPECT_GE(branched, temperature > 0 ? 20 : 1);
  }
}

// The best nodes by path probability are those of the whole tree of that many levels.
TEST_F(DraftModelTest, NoBetterNodeIsLeftOut) {
  const auto drafter = Started({.branches = 3, .expand = 2});
  ASSERT_TRUE(drafter->Propose(prompt_, kEight, tree_).ok());
  Sampler sampler(params_, kVocab, prompt_.size(), {});
  std::vector<Candidate> best;
  std::vector<float> given, all;
  std::vector<std::pair<Ids, float>> level = {{prompt_, 1.0f}};
  for (int depth = 0; depth < 8 && !level.empty(); ++depth) {
    std::vector<std::pair<Ids, float>> next;
    for (const auto& [prefix, path] : level) {
      sampler.TopPerturbed(prefix, RowAfter(prefix), 3, best);
      for (const Candidate& guess : best) {
        if (path * guess.probability < 1e-3f) continue;
        next.emplace_back(prefix, path * guess.probability);
        next.back().first.push_back(guess.token);
        all.push_back(path * guess.probability);
      }
    }
    level = next;
  }
  for (int32_t node = 0; node < tree_.size(); ++node) {
    float path = 1;
    for (int32_t at = node; at >= 0; at = tree_.parents[at]) path *= tree_.probabilities[at];
    given.push_back(path);
  }
  std::sort(all.begin(), all.end(), std::greater<>());
  std::sort(given.begin(), given.end(), std::greater<>());
  for (size_t i = 0; i < given.size(); ++i) EXPECT_NEAR(given[i], all[i], 1e-5f);
}

// Whatever of the tree is committed, its KV is kept, and nothing stale is read.
TEST_F(DraftModelTest, AcceptedGuessesAreNotReadAgain) {
  params_.temperature = 0.9f;
  for (const TreeDrafterOptions& options :
       {TreeDrafterOptions{}, TreeDrafterOptions{.branches = 3, .expand = 3}}) {
    const auto drafter = Started(options);
    Ids committed = prompt_;
    uint64_t chance = 11;
    const int64_t moves = target_.moves;
    for (int step = 0; step < 60; ++step) {
      ASSERT_TRUE(drafter->Propose(committed, kEight, tree_).ok());
      ExpectTrueGuesses(committed, tree_, options.branches);
      // A random way down the tree, as far as nodes were read for sure (they have children), then a
      // token of the target's own.
      const Ids before = committed;
      int32_t node = -1;
      int read = 0;
      while (true) {
        std::vector<int32_t> children;
        for (int32_t child = node + 1; child < tree_.size(); ++child) {
          if (tree_.parents[child] == node) children.push_back(child);
        }
        chance = chance * 6364136223846793005u + 1442695040888963407u;
        if (children.empty() || chance >> 61 == 0) break;
        if (node >= 0) ++read;
        node = children[(chance >> 33) % children.size()];
        committed.push_back(tree_.tokens[node]);
      }
      // A token that the tree does not have there, if it can be helped.
      committed.push_back(static_cast<TokenId>((chance >> 40) % kVocab));
      const int64_t rows = target_.rows, passes = target_.passes;
      ASSERT_TRUE(drafter->Propose(committed, {1, 100, 0}, tree_).ok());
      EXPECT_EQ(target_.passes - passes, 1);
      const int64_t unread = static_cast<int64_t>(committed.size() - before.size()) - read;
      EXPECT_LE(target_.rows - rows, unread);
      EXPECT_GE(target_.rows - rows, 1);
      ExpectTrueGuesses(committed, tree_, options.branches);
    }
    EXPECT_GE(target_.moves - moves, options.branches > 1 ? 10 : 0);
    drafter->Forget();
    EXPECT_EQ(pool_.free_blocks(), kBlocks);
  }
}

TEST_F(DraftModelTest, AnotherPrefixIsReadFromWhereItDiffers) {
  const auto drafter = Started({.branches = 2, .expand = 2});
  ASSERT_TRUE(drafter->Propose(prompt_, kEight, tree_).ok());
  Ids other = prompt_;
  other[30] = (other[30] + 1) % kVocab;
  other.push_back(tree_.tokens[0]);
  ASSERT_TRUE(drafter->Propose(other, kEight, tree_).ok());
  ExpectTrueGuesses(other, tree_, 2);
  const Ids shorter(other.begin(), other.begin() + 20);
  ASSERT_TRUE(drafter->Propose(shorter, kEight, tree_).ok());
  ExpectTrueGuesses(shorter, tree_, 2);
}

TEST_F(DraftModelTest, StopsWhereNothingIsLikelyEnough) {
  params_.temperature = 1.5f;
  const auto drafter = Started({.branches = 3, .expand = 2});
  Ids committed = prompt_;
  int shorter = 0;
  for (int step = 0; step < 20; ++step) {
    const int64_t passes = drafter->passes();
    ASSERT_TRUE(drafter->Propose(committed, {8, 100, 0.4f}, tree_).ok());
    for (int32_t node = 0; node < tree_.size(); ++node) {
      float path = 1;
      for (int32_t at = node; at >= 0; at = tree_.parents[at]) path *= tree_.probabilities[at];
      EXPECT_GE(path, 0.4f);
    }
    shorter += drafter->passes() - passes < 4;
    committed.push_back(static_cast<TokenId>(step * 7 % kVocab));
  }
  EXPECT_GT(shorter, 5);
  ASSERT_TRUE(drafter->Propose(committed, {8, 100, 1.1f}, tree_).ok());
  EXPECT_TRUE(tree_.empty());
}

TEST_F(DraftModelTest, KeepsToTheLimits) {
  params_.temperature = 0.8f;
  for (const int nodes : {1, 2, 5, 40}) {
    for (const int depth : {0, 1, 2, 5}) {
      const auto drafter = Started({.branches = 4, .expand = 9});
      ASSERT_TRUE(drafter->Propose(prompt_, {nodes, depth, 0}, tree_).ok());
      EXPECT_LE(tree_.size(), nodes);
      EXPECT_EQ(tree_.empty(), depth == 0);
      for (int32_t node = 0; node < tree_.size(); ++node) {
        EXPECT_LE(PrefixOf({}, tree_, node).size(), static_cast<size_t>(depth));
      }
    }
  }
  // A model that gives one row of logits grows a tree leaf by leaf.
  FakeKvTarget narrow(fake_, kBlocks, {.max_rows = 24, .max_logit_rows = 1});
  DraftModel drafter(narrow, pool_, kVocab, 500, {}, {.branches = 3, .expand = 4});
  ASSERT_TRUE(drafter.Start(prompt_, params_).ok());
  ASSERT_TRUE(drafter.Propose(prompt_, kEight, tree_).ok());
  EXPECT_EQ(tree_.size(), 8);
  ExpectTrueGuesses(prompt_, tree_, 3);
}

TEST_F(DraftModelTest, GuessesNothingAfterAnEndToken) {
  const TokenId best = [&] {
    const auto drafter = Started({});
    EXPECT_TRUE(drafter->Propose(prompt_, {1, 100, 0}, tree_).ok());
    return tree_.tokens[0];
  }();
  const auto drafter = Make({}, 500, {best});
  ASSERT_TRUE(drafter->Start(prompt_, params_).ok());
  ASSERT_TRUE(drafter->Propose(prompt_, kEight, tree_).ok());
  EXPECT_EQ(tree_.tokens, Ids{best});
}

TEST_F(DraftModelTest, EndsWithItsContextAndItsMemory) {
  auto drafter = Make({.branches = 2, .expand = 2}, 42);
  ASSERT_TRUE(drafter->Start(prompt_, params_).ok());
  ASSERT_TRUE(drafter->Propose(prompt_, kEight, tree_).ok());
  for (int32_t node = 0; node < tree_.size(); ++node) {
    EXPECT_LE(PrefixOf({}, tree_, node).size(), 2u);
  }
  ASSERT_TRUE(drafter->Propose(fake_.Prompt(42), kEight, tree_).ok());
  EXPECT_TRUE(tree_.empty());
  drafter->Forget();

  // Room for the prompt and a few slots: a smaller tree.
  BlockPool small(3);
  DraftModel tight(target_, small, kVocab, 500, {}, {.branches = 2, .expand = 2});
  ASSERT_TRUE(tight.Start(prompt_, params_).ok());
  ASSERT_TRUE(tight.Propose(prompt_, kEight, tree_).ok());
  EXPECT_FALSE(tree_.empty());
  ExpectTrueGuesses(prompt_, tree_, 2);
  const Status full = tight.Propose(fake_.Prompt(60), kEight, tree_);
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().message, "the draft model's KV cache is full");
}

TEST_F(DraftModelTest, SaysNothingAfterATokenThatItDoesNotKnow) {
  const auto drafter = Started({});
  prompt_[7] = kVocab;
  ASSERT_TRUE(drafter->Propose(prompt_, kEight, tree_).ok());
  EXPECT_TRUE(tree_.empty());
}

TEST_F(DraftModelTest, UnderRatioItDrawsAndLeavesTheLaw) {
  params_.temperature = 1.2f;
  params_.acceptance = AcceptanceRule::kRatio;
  const auto drafter = Started({.branches = 3, .expand = 2});
  Sampler sampler(params_, kVocab, prompt_.size(), {});
  std::vector<Ids> drawn;
  std::vector<float> law;
  for (int step = 0; step < 10; ++step) {
    ASSERT_TRUE(drafter->Propose(prompt_, kEight, tree_).ok());
    ASSERT_EQ(tree_.law_width, kVocab);
    for (int32_t node = 0; node < tree_.size(); ++node) {
      const Ids prefix = PrefixOf(prompt_, tree_, tree_.parents[node]);
      sampler.Law(prefix, RowAfter(prefix), law);
      const auto recorded = tree_.law_rows.begin() + tree_.laws[node] * kVocab;
      EXPECT_TRUE(std::equal(law.begin(), law.end(), recorded)) << "node " << node;
    }
    drawn.push_back(tree_.tokens);
  }
  std::sort(drawn.begin(), drawn.end());
  EXPECT_GT(std::unique(drawn.begin(), drawn.end()) - drawn.begin(), 5) << "noise is used again";
  // The same request draws the same; another stream does not.
  const auto again = Started({.branches = 3, .expand = 2}),
             other = Started({.branches = 3, .expand = 2, .noise_stream = 5});
  DraftTree first, second;
  ASSERT_TRUE(again->Propose(prompt_, kEight, first).ok());
  ASSERT_TRUE(other->Propose(prompt_, kEight, second).ok());
  EXPECT_TRUE(std::binary_search(drawn.begin(), drawn.end(), first.tokens));
  EXPECT_NE(first.tokens, second.tokens);
}

TEST_F(DraftModelTest, UnderRatioAtTemperatureZeroItGuessesGreedily) {
  params_.acceptance = AcceptanceRule::kRatio;
  const auto drafter = Started({.branches = 3, .expand = 2});
  ASSERT_TRUE(drafter->Propose(prompt_, kEight, tree_).ok());
  ExpectTrueGuesses(prompt_, tree_, 3);
}

// The belief in a drawn node, and with it whether it is in the tree, does not come from its token.
TEST_F(DraftModelTest, UnderRatioBeliefsDoNotDependOnWhatWasDrawn) {
  params_.temperature = 1.2f;
  params_.acceptance = AcceptanceRule::kRatio;
  const auto drafter = Started({.branches = 4, .expand = 1});
  std::vector<float> beliefs;
  for (int step = 0; step < 10; ++step) {
    ASSERT_TRUE(drafter->Propose(prompt_, {4, 1, 0}, tree_).ok());
    if (step == 0) beliefs = tree_.probabilities;
    EXPECT_EQ(tree_.probabilities, beliefs);
    EXPECT_TRUE(std::is_sorted(beliefs.rbegin(), beliefs.rend()));
  }
}

// The whole of `ratio`: a draft model's trees, verified, against the law of the first three tokens.
class DraftModelLaw : public testing::TestWithParam<std::tuple<AcceptanceRule, float>> {};

TEST_P(DraftModelLaw, TheTextFollowsTheTargetsLaw) {
  constexpr int kFew = 8;
  constexpr int kRuns = 6000;
  const auto [rule, temperature] = GetParam();
  SamplingParams params;
  params.temperature = temperature;
  params.acceptance = rule;
  // Opinions that differ: peaks of 8, 7, 6 and 5 in other places.
  const FakeTarget target(kFew, 5), other(kFew, 6);
  const float flatten = 0.35f;
  const auto row_after = [&](const FakeTarget& fake, const Ids& prefix, std::span<float> row) {
    fake.Row(prefix, row);
    for (float& x : row) x *= flatten;
  };
  // The draft model sees the unflattened rows, so it is surer than the target.
  FakeKvTarget draft(other, 16, {.max_rows = 24, .max_logit_rows = 4});
  BlockPool pool(16);
  const Ids prompt = {1, 2, 3};
  Sampler sampler(params, kFew, prompt.size(), {});
  std::vector<double> counts(kFew * kFew * kFew), law = {1};
  std::vector<Ids> prefixes = {prompt};
  for (int depth = 0; depth < 3; ++depth) {
    std::vector<double> next;
    std::vector<Ids> longer;
    for (size_t i = 0; i < prefixes.size(); ++i) {
      std::vector<float> row(kFew), p;
      row_after(target, prefixes[i], row);
      sampler.Law(prefixes[i], row, p);
      for (TokenId token = 0; token < kFew; ++token) {
        next.push_back(law[i] * static_cast<double>(p[static_cast<size_t>(token)]));
        longer.push_back(prefixes[i]);
        longer.back().push_back(token);
      }
    }
    law = next;
    prefixes = longer;
  }
  DraftModel drafter(draft, pool, kFew, 100, {}, {.branches = 3, .expand = 2});
  RatioAcceptor acceptor;
  Verdict verdict;
  DraftTree tree;
  int64_t accepted = 0;
  for (uint64_t seed = 0; seed < kRuns; ++seed) {
    params.seed = seed;
    ASSERT_TRUE(drafter.Start(prompt, params).ok());
    RatioNoise noise(seed, 0, RatioNoise::kVerify);
    Ids text = prompt;
    while (text.size() < prompt.size() + 3) {
      ASSERT_TRUE(drafter.Propose(text, {5, 4, 0.02f}, tree).ok());
      std::vector<float> rows;
      for (int32_t node = -1; node < tree.size(); ++node) {
        Ids path, prefix = text;
        for (int32_t at = node; at >= 0; at = tree.parents[at]) path.push_back(tree.tokens[at]);
        prefix.insert(prefix.end(), path.rbegin(), path.rend());
        rows.resize(rows.size() + kFew);
        row_after(target, prefix, std::span(rows).last(kFew));
      }
      acceptor.Accept(rule, tree, {rows.data(), kFew, kFew}, text, sampler, noise, verdict);
      accepted += static_cast<int64_t>(verdict.path.size());
      for (const TokenChoice& choice : verdict.tokens) text.push_back(choice.token);
    }
    const TokenId* first = text.data() + prompt.size();
    ++counts[static_cast<size_t>((first[0] * kFew + first[1]) * kFew + first[2])];
  }
  EXPECT_GT(accepted, kRuns / 4);
  EXPECT_LT(ChiSquareOf(counts, law).Sigmas(), 4.265);  // p = 1e-5
}

INSTANTIATE_TEST_SUITE_P(Rules, DraftModelLaw,
                         testing::Combine(testing::Values(AcceptanceRule::kRatio,
                                                          AcceptanceRule::kBlock),
                                          testing::Values(0.5f, 1.0f)));

// Requests over one pool that shares: each takes over what those before it have read, also of each
// other's accepted guesses, and guesses as a drafter does that has read everything itself.
TEST_F(DraftModelTest, WhatOthersHaveReadIsNotReadAgain) {
  BlockPool shared(kBlocks, true);
  const auto make = [&](BlockPool& pool, const char* salt) {
    TreeDrafterOptions options = {.branches = 2, .expand = 2};
    options.cache_salt = std::make_shared<const std::string>(salt);
    auto drafter = std::make_unique<DraftModel>(target_, pool, kVocab, 500, Ids{}, options);
    EXPECT_TRUE(drafter->Start(prompt_, params_).ok());
    return drafter;
  };
  // 90 steps that accept all guesses, as a perfect draft model's are: every place in a block is
  // once the end of what is committed.
  const auto trees = [&](DraftModel& drafter) {
    std::vector<Ids> all;
    Ids committed = prompt_;
    for (int step = 0; step < 90; ++step) {
      EXPECT_TRUE(drafter.Propose(committed, {step % 4, 100, 0}, tree_).ok());
      all.push_back(tree_.tokens);
      committed = fake_.Prompt(committed.size() + 1 + step % 3);
    }
    return all;
  };
  // Slots of one drafter at a time: the fake target's memory is one.
  const auto alone = trees(*make(pool_, ""));
  int64_t first_passes;
  {
    const auto first = make(shared, "");
    EXPECT_EQ(trees(*first), alone);
    first_passes = first->passes();
  }
  EXPECT_GT(shared.prefixes()->idle_blocks(), 8);
  const auto second = make(shared, "");
  EXPECT_EQ(second->unread(prompt_), 8) << "of 40 tokens, two blocks are known";
  EXPECT_EQ(trees(*second), alone);
  EXPECT_LT(second->passes(), first_passes) << "40 tokens of prompt were two passes";
  const auto third = make(shared, "another salt");
  EXPECT_EQ(trees(*third), alone);
  EXPECT_EQ(third->passes(), first_passes);
}

}  // namespace
}  // namespace hunch

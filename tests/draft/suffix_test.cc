// Tests of the suffix drafter: its trees against the definition, what it keeps and what it forgets.
#include "draft/suffix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include "draft/tree_checks.h"
#include "support/fake_target.h"

namespace hunch {
namespace {

using Ids = std::vector<TokenId>;

DraftTree Propose(SuffixDrafter& drafter, const Ids& committed, ProposeLimits limits = {8, 8, 0}) {
  DraftTree tree;
  tree.Add(99, -1, 1);  // of the last step
  EXPECT_TRUE(drafter.Propose(committed, limits, tree).ok());
  ExpectSound(tree, limits);
  ExpectSiblingsSumToAtMostOne(tree);
  return tree;
}

DraftTree Guess(const Ids& prompt, ProposeLimits limits = {8, 8, 0}) {
  SuffixDrafter drafter(64);
  EXPECT_TRUE(drafter.Start(prompt, {}).ok());
  return Propose(drafter, prompt, limits);
}

// The definition, told naively: see suffix.h. Texts shorter than the depth.
std::vector<std::pair<TokenId, float>> NaiveGuesses(const Ids& text, const Ids& path) {
  Ids whole = text;
  whole.insert(whole.end(), path.begin(), path.end());
  std::vector<std::pair<TokenId, float>> guesses;
  float left = 1;
  int before = 0, contexts = 0;
  for (size_t length = whole.size(); length > 0 && contexts < 4; --length) {
    int followed = 0;
    std::map<TokenId, std::pair<int, size_t>> counts;  // how often, when last
    for (size_t at = length; at < text.size(); ++at) {
      if (!std::equal(whole.end() - static_cast<ptrdiff_t>(length), whole.end(),
                      text.begin() + static_cast<ptrdiff_t>(at - length))) {
        continue;
      }
      ++followed;
      ++counts[text[at]].first;
      counts[text[at]].second = at;
    }
    if (followed == before) continue;  // a shorter match with the same places
    before = followed;
    ++contexts;
    std::vector<std::pair<std::pair<int, size_t>, TokenId>> order;
    for (const auto& [token, seen] : counts) order.push_back({seen, token});
    std::sort(order.rbegin(), order.rend());
    if (order.size() > 4) order.resize(4);
    const float doubt = 3.0f / std::pow(static_cast<float>(length), 1.1f);
    const float times = static_cast<float>(followed);
    const float said = left * times / (times + doubt);
    left -= said;
    for (const auto& [seen, token] : order) {
      const float probability = said * static_cast<float>(seen.first) / times;
      const auto known = std::find_if(guesses.begin(), guesses.end(),
                                      [t = token](const auto& g) { return g.first == t; });
      if (known == guesses.end()) {
        guesses.emplace_back(token, probability);
      } else {
        known->second += probability;
      }
    }
  }
  return guesses;
}

DraftTree NaiveTree(const Ids& text, const ProposeLimits& limits) {
  struct Open {
    float path;
    int parent;
    TokenId token;
    float probability;
    Ids tokens;
  };
  std::vector<Open> open;  // in the order of their coming
  const auto push = [&](float path, int index, const Ids& tokens) {
    for (const auto& [token, probability] : NaiveGuesses(text, tokens)) {
      Ids longer = tokens;
      longer.push_back(token);
      if (static_cast<int>(longer.size()) > limits.max_depth) continue;
      if (path * probability < limits.min_path_probability) continue;
      open.push_back({path * probability, index, token, probability, longer});
    }
  };
  DraftTree tree;
  push(1, -1, {});
  while (tree.size() < limits.max_nodes && !open.empty()) {
    const auto best = std::max_element(open.begin(), open.end(), [](const Open& a, const Open& b) {
      return a.path < b.path;  // the first of equals
    });
    const Open node = *best;
    open.erase(best);
    push(node.path, tree.Add(node.token, node.parent, node.probability), node.tokens);
  }
  return tree;
}

TEST(SuffixDrafterTest, TreesAreThoseOfTheDefinition) {
  std::mt19937 random(21);
  int nodes = 0;
  for (int round = 0; round < 400; ++round) {
    Ids text(1 + random() % 60);
    const uint32_t alphabet = 1 + random() % 6;
    for (TokenId& token : text) token = static_cast<TokenId>(random() % alphabet);
    const ProposeLimits limits = {static_cast<int>(random() % 24), static_cast<int>(random() % 9),
                                  round % 2 == 0 ? 0 : 0.05f};
    SuffixDrafter drafter(static_cast<int>(random() % 80));
    const size_t prompt = random() % (text.size() + 1);
    ASSERT_TRUE(drafter.Start(std::span(text).first(prompt), {}).ok());
    if (round % 3 == 0) {  // step by step
      for (size_t size = prompt + 1; size <= text.size(); ++size) {
        drafter.Observe({{}, {}, std::span(text).first(size)});
      }
    }
    const DraftTree tree = Propose(drafter, text, limits);
    const DraftTree truth = NaiveTree(text, limits);
    ASSERT_EQ(PathsOf(tree), PathsOf(truth)) << round;
    ASSERT_EQ(tree.probabilities, truth.probabilities) << round;
    nodes += tree.size();
  }
  EXPECT_GT(nodes, 1000);
}

TEST(SuffixDrafterTest, ProposesWhatFollowed) {
  EXPECT_EQ(Guess({1, 2, 3, 4, 5, 6, 9, 1, 2}, {3, 8, 0}).tokens, (Ids{3, 4, 5}));
  EXPECT_TRUE(Guess({}).empty());
  EXPECT_TRUE(Guess({1}).empty());
  EXPECT_TRUE(Guess({1, 2, 3}).empty());
  EXPECT_TRUE(Guess({1, 2, 3, 1}, {0, 8, 0}).empty());
  EXPECT_TRUE(Guess({1, 2, 3, 1}, {8, 0, 0}).empty());
  EXPECT_TRUE(Guess({1, 2, 3, 1}, {-1, -1, 0}).empty());
}

TEST(SuffixDrafterTest, AFrequentContinuationComesFirstAndAllArePresent) {
  const DraftTree tree = Guess({5, 1, 5, 2, 5, 1, 5, 3, 5, 1, 5, 2, 5}, {3, 1, 0});
  ASSERT_EQ(tree.size(), 3);
  EXPECT_EQ(tree.tokens[0], 1);
  EXPECT_GT(tree.probabilities[0], tree.probabilities[1]);
}

TEST(SuffixDrafterTest, LongerMatchesAreBelievedMore) {
  float last = 0;
  for (const int length : {1, 2, 3, 4, 8, 16, 40}) {
    Ids tokens;
    for (int i = 0; i < length; ++i) tokens.push_back(100 + i);
    tokens.insert(tokens.end(), {1, 2});
    for (int i = 0; i < length; ++i) tokens.push_back(100 + i);
    const float belief = Guess(tokens).probabilities.at(0);
    EXPECT_GT(belief, last) << length;
    EXPECT_LT(belief, 1);
    last = belief;
  }
}

TEST(SuffixDrafterTest, GuessesGoOnInARepeatingText) {
  Ids text;
  for (int i = 0; i < 200; ++i) text.push_back(i % 3);
  Ids expected;
  for (int i = 200; i < 232; ++i) expected.push_back(i % 3);
  const DraftTree tree = Guess(text, {32, 64, 0});
  EXPECT_EQ(tree.tokens, expected);
  EXPECT_GT(tree.probabilities.back(), 0.95f);
}

TEST(SuffixDrafterTest, TokensMayBeAnyNumber) {
  const TokenId low = std::numeric_limits<TokenId>::min();
  EXPECT_EQ(Guess({low, -1, 7, low}, {2, 2, 0}).tokens, (Ids{-1, 7}));
}

TEST(SuffixDrafterTest, AShorterSequenceIsAnotherOne) {
  SuffixDrafter drafter(64);
  ASSERT_TRUE(drafter.Start(Ids{1, 2, 3, 1, 2, 3}, {}).ok());
  EXPECT_TRUE(Propose(drafter, {1, 2, 3}).empty());
}

// Another request's text is never proposed, and what came before changes no count.
TEST(SuffixDrafterTest, ARequestLeavesNothingBehind) {
  const FakeTarget target(64, 8);
  SamplingParams params;
  params.max_tokens = 60;
  const Ids long_prompt = target.Prompt(300), prompt = target.Prompt(30);
  const auto run = [&](SuffixDrafter& drafter, const Ids& tokens) {
    return RunFake(target, tokens, params, &drafter, {});
  };
  SuffixDrafter fresh(128), used(128);
  const FakeRun alone = run(fresh, prompt);
  run(used, long_prompt);
  for (int repeat = 0; repeat < 3; ++repeat) {
    const FakeRun after = run(used, prompt);
    EXPECT_EQ(after.tokens, alone.tokens);
    EXPECT_EQ(after.drafted, alone.drafted);
    EXPECT_EQ(after.accepted, alone.accepted);
  }
  EXPECT_GT(alone.accepted, 0);
  ASSERT_TRUE(used.Start(Ids{1, 2, 3, 1}, {}).ok());
  ASSERT_TRUE(used.Start(Ids{1}, {}).ok());  // without Forget in between
  EXPECT_TRUE(Propose(used, {1}).empty());
}

TEST(SuffixDrafterTest, TheTextStaysTheSame) {
  const FakeTarget target(64, 6);
  for (const float temperature : {0.0f, 0.8f}) {
    SamplingParams params;
    params.max_tokens = 120;
    params.temperature = temperature;
    const Ids prompt = target.Prompt(100);
    const FakeRun plain = RunFake(target, prompt, params, nullptr, {});
    for (const int nodes : {1, 4, 16, 40}) {
      SuffixDrafter drafter(256);
      FakeLimits limits;
      limits.max_nodes = nodes;
      const FakeRun run = RunFake(target, prompt, params, &drafter, limits);
      EXPECT_EQ(run.tokens, plain.tokens) << nodes;
      EXPECT_GT(run.accepted, 0);
      if (temperature > 0) {
        EXPECT_LT(run.accepted, run.drafted);
      }
    }
  }
}

}  // namespace
}  // namespace hunch

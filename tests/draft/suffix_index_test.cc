// Tests of the suffix automaton: its counts and its order against the definition, told naively.
#include "draft/suffix_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <vector>

namespace hunch {
namespace {

using Ids = std::vector<TokenId>;
using Texts = std::vector<Ids>;

// What follows `context` in the texts: token -> (how often, when last).
struct Followers {
  int places = 0;  // some at the end of a text
  int total = 0;
  std::map<TokenId, std::pair<int, int>> by_token;
};

Followers NaiveFollowers(const Texts& texts, std::span<const TokenId> context) {
  Followers found;
  int time = 0;
  for (const Ids& text : texts) {
    for (size_t end = 0; end <= text.size(); ++end, ++time) {
      if (end < context.size() ||
          !std::equal(context.begin(), context.end(), text.begin() + end - context.size())) {
        continue;
      }
      ++found.places;
      if (end == text.size()) continue;
      ++found.total;
      auto& [count, last] = found.by_token[text[end]];
      ++count;
      last = time;
    }
  }
  return found;
}

std::vector<std::pair<TokenId, int>> BestOf(const Followers& followers) {
  std::vector<std::pair<TokenId, std::pair<int, int>>> all(followers.by_token.begin(),
                                                           followers.by_token.end());
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::pair<TokenId, int>> best;
  for (const auto& [token, seen] : all) best.emplace_back(token, seen.first);
  if (best.size() > SuffixIndex::kBranches) best.resize(SuffixIndex::kBranches);
  return best;
}

void ExpectSame(const SuffixIndex& index, SuffixIndex::State state, const Followers& truth) {
  ASSERT_EQ(index.followed(state), truth.total);
  for (const auto& [token, seen] : truth.by_token) {
    ASSERT_EQ(index.Count(state, token), seen.first);
  }
  std::vector<std::pair<TokenId, int>> branches;
  for (const auto& branch : index.branches(state))
    branches.emplace_back(branch.token, branch.count);
  ASSERT_EQ(branches, BestOf(truth));
}

// Every substring shorter than depth, by the path from the root.
void CheckSubstrings(const SuffixIndex& index, const Texts& texts, int depth) {
  for (const Ids& text : texts) {
    for (size_t begin = 0; begin < text.size(); ++begin) {
      SuffixIndex::State state = SuffixIndex::kRoot;
      for (size_t end = begin; end < text.size() && end - begin < size_t(depth - 1); ++end) {
        state = index.Next(state, text[end]);
        ASSERT_NE(state, SuffixIndex::kNone);
        const auto substring = std::span(text).subspan(begin, end + 1 - begin);
        ASSERT_GE(index.length(state), static_cast<int>(substring.size()));
        ASSERT_NO_FATAL_FAILURE(ExpectSame(index, state, NaiveFollowers(texts, substring)));
      }
    }
  }
}

// The contexts behind the links: exactly the suffixes of the last text, longest first, that have
// more places than any longer one.
void CheckContexts(const SuffixIndex& index, const Texts& texts, int depth) {
  const Ids& text = texts.back();
  const int longest = std::min<int>(static_cast<int>(text.size()), depth - 1);
  SuffixIndex::State state = index.context();
  int places = -1;  // of the suffixes above
  for (int length = longest; length >= 0; --length) {
    const Followers truth =
        NaiveFollowers(texts, std::span(text).last(static_cast<size_t>(length)));
    if (truth.places == places) continue;
    places = truth.places;
    ASSERT_NE(state, SuffixIndex::kNone);
    ASSERT_GE(index.length(state), length);
    ASSERT_LE(index.length(state), std::max(length, depth));
    ASSERT_NO_FATAL_FAILURE(ExpectSame(index, state, truth));
    state = index.link(state);
  }
  EXPECT_EQ(state, SuffixIndex::kNone);
}

class SuffixIndexTest : public testing::TestWithParam<std::pair<int, int>> {};

TEST_P(SuffixIndexTest, CountsAreThoseOfTheDefinition) {
  const auto [depth, alphabet] = GetParam();
  std::mt19937 random(static_cast<uint32_t>(100 * depth + alphabet));
  for (int round = 0; round < 60; ++round) {
    SuffixIndex index(depth);
    if (round % 2 == 0) index.Reserve(60);  // else it grows
    Texts texts(1);
    const int size = 1 + static_cast<int>(random() % 60);
    for (int i = 0; i < size; ++i) {
      if (round % 3 == 0 && random() % 12 == 0) {
        index.EndText();
        texts.emplace_back();
      }
      TokenId token = static_cast<TokenId>(random() % alphabet);
      // Now and then a copied stretch, so that there are long repeats too.
      if (!texts.back().empty() && random() % 3 != 0) {
        const Ids& text = texts.back();
        token = text[(text.size() * 3 / 4 + random() % 2) % text.size()];
      }
      texts.back().push_back(token);
      index.Append(token);
      ASSERT_NO_FATAL_FAILURE(CheckContexts(index, texts, depth)) << round << " " << i;
      if (i % 8 == 0 || i + 1 == size) {
        ASSERT_NO_FATAL_FAILURE(CheckSubstrings(index, texts, depth)) << round << " " << i;
      }
    }
    ASSERT_LE(index.states(), static_cast<size_t>(2 * size + 1));
    ASSERT_LE(index.edges(), static_cast<size_t>(3 * size));
  }
}

INSTANTIATE_TEST_SUITE_P(All, SuffixIndexTest,
                         testing::Values(std::pair{2, 2}, std::pair{3, 2}, std::pair{3, 3},
                                         std::pair{4, 2}, std::pair{5, 3}, std::pair{8, 2},
                                         std::pair{8, 6}, std::pair{64, 1}, std::pair{64, 2},
                                         std::pair{64, 4}, std::pair{4, 1}, std::pair{64, 30}));

TEST(SuffixIndexTest, PeriodicTextsStayWithinDepthAndMemory) {
  for (const int period : {1, 2, 3, 50, 63, 64, 65, 200}) {
    SuffixIndex index;
    index.Reserve(20000);
    for (int i = 0; i < 20000; ++i) index.Append(i % period);
    EXPECT_LE(index.states(), 64u * std::min(period, 64) + 2 * period + 2) << period;
    int links = 0;
    for (auto state = index.context(); state != SuffixIndex::kNone; state = index.link(state)) {
      ++links;
    }
    EXPECT_LE(links, SuffixIndex::kDepth);
    EXPECT_EQ(index.branches(index.context()).front().token, 20000 % period);
  }
}

TEST(SuffixIndexTest, TokensMayBeAnyNumber) {
  SuffixIndex index;
  const TokenId low = std::numeric_limits<TokenId>::min(),
                high = std::numeric_limits<TokenId>::max();
  for (const TokenId token : {low, -1, high, low, -1}) index.Append(token);
  const SuffixIndex::State again = index.link(index.context());
  ASSERT_EQ(index.branches(again).size(), 1u);
  EXPECT_EQ(index.branches(again)[0].token, high);
  EXPECT_EQ(index.Count(SuffixIndex::kRoot, low), 2);
  EXPECT_EQ(index.Count(SuffixIndex::kRoot, 0), 0);
  EXPECT_EQ(index.Next(SuffixIndex::kRoot, 0), SuffixIndex::kNone);
}

TEST(SuffixIndexTest, ClearLeavesNothing) {
  SuffixIndex index;
  for (int i = 0; i < 500; ++i) index.Append(i % 7);
  index.Clear();
  EXPECT_EQ(index.context(), SuffixIndex::kRoot);
  EXPECT_EQ(index.states(), 1u);
  EXPECT_EQ(index.edges(), 0u);
  for (int i = 0; i < 7; ++i) EXPECT_EQ(index.Next(SuffixIndex::kRoot, i), SuffixIndex::kNone);
  EXPECT_TRUE(index.branches(SuffixIndex::kRoot).empty());
}

}  // namespace
}  // namespace hunch

// Tests of the n-gram cache drafter: what the sequence and the corpus say, and what is forgotten.
#include "draft/ngram_cache.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "draft/ngram_cache_builder.h"
#include "draft/tree_checks.h"
#include "support/fake_target.h"
#include "support/files.h"

namespace hunch {
namespace {

using Ids = std::vector<TokenId>;
constexpr VocabularyId kVocabulary = {77, 1000};

std::shared_ptr<const NgramTable> TableOf(const std::vector<Ids>& streams) {
  const TempDir folder;
  EXPECT_TRUE(BuildNgramCache(streams, folder.Path("t.ngc"), kVocabulary).ok());
  auto table = NgramTable::Open(folder.Path("t.ngc"), kVocabulary);
  EXPECT_TRUE(table.ok());
  return *table;
}

DraftTree Guess(NgramCacheDrafter& drafter, const Ids& prompt, ProposeLimits limits = {8, 8, 0}) {
  DraftTree tree;
  tree.Add(99, -1, 1);  // of the last step
  EXPECT_TRUE(drafter.Start(prompt, {}).ok());
  EXPECT_TRUE(drafter.Propose(prompt, limits, tree).ok());
  ExpectSound(tree, limits);
  ExpectSiblingsSumToAtMostOne(tree);
  return tree;
}

TEST(NgramCacheDrafterTest, TheSequenceSpeaksAndTheCorpusFills) {
  const auto table = TableOf({{1, 2, 3, 4, 5}, {7, 8, 9}, {7, 8, 9}});
  NgramCacheDrafter drafter(64, table);
  // Only the corpus knows.
  EXPECT_EQ(Guess(drafter, {50, 1, 2}, {3, 8, 0}).tokens, (Ids{3, 4, 5}));
  // Both know: the sequence first.
  EXPECT_EQ(Guess(drafter, {1, 2, 6, 1, 2}, {1, 1, 0}).tokens, (Ids{6}));
  EXPECT_EQ(PathsOf(Guess(drafter, {1, 2, 6, 1, 2}, {8, 1, 0})), (std::vector<Ids>{{6}, {3}}));
  // The corpus confirms: believed more than without it.
  NgramCacheDrafter alone(64);
  EXPECT_GT(Guess(drafter, {7, 8, 9, 7, 8}).probabilities.at(0),
            Guess(alone, {7, 8, 9, 7, 8}).probabilities.at(0));
}

TEST(NgramCacheDrafterTest, WithoutAnythingKnownNothing) {
  NgramCacheDrafter drafter(64, TableOf({{1, 2, 3}}));
  EXPECT_TRUE(Guess(drafter, {}).empty());
  EXPECT_TRUE(Guess(drafter, {2}).empty());  // the corpus is asked about two tokens at least
  EXPECT_TRUE(Guess(drafter, {1, 2, 9, 8}).empty());
  EXPECT_TRUE(Guess(drafter, {1, 2}, {0, 8, 0}).empty());
  EXPECT_TRUE(Guess(drafter, {1, 2}, {8, 0, 0}).empty());
}

TEST(NgramCacheDrafterTest, LearnsWhileItRunsAndForgets) {
  NgramCacheDrafter drafter(64, TableOf({}));
  Ids sequence = {1, 2};
  DraftTree tree;
  EXPECT_TRUE(Guess(drafter, sequence).empty());
  for (const TokenId token : {30, 31, 1, 2}) {
    sequence.push_back(token);
    drafter.Observe({tree, {}, sequence});
  }
  ASSERT_TRUE(drafter.Propose(sequence, {2, 2, 0}, tree).ok());
  EXPECT_EQ(tree.tokens, (Ids{30, 31}));
  drafter.Forget();
  EXPECT_TRUE(Guess(drafter, {1, 2}).empty());
}

TEST(NgramCacheDrafterTest, ATokenMayBeAnyNumber) {
  NgramCacheDrafter drafter(64, TableOf({{1, 2, 3}}));
  EXPECT_EQ(Guess(drafter, {-5, 1 << 30, -5}, {1, 1, 0}).tokens, (Ids{1 << 30}));
}

TEST(NgramCacheDrafterTest, LimitsAndSumsHoldOnRandomTexts) {
  std::mt19937 random(3);
  std::vector<Ids> streams(5, Ids(300));
  for (Ids& stream : streams) {
    for (TokenId& token : stream) token = static_cast<TokenId>(random() % 4);
  }
  NgramCacheDrafter drafter(64, TableOf(streams));
  NgramCacheDrafter second(0, TableOf(streams));
  int nodes = 0;
  for (int round = 0; round < 300; ++round) {
    Ids prompt(random() % 60);
    for (TokenId& token : prompt) token = static_cast<TokenId>(random() % 5);
    const ProposeLimits limits = {static_cast<int>(random() % 40), static_cast<int>(random() % 9),
                                  round % 2 == 0 ? 0 : 0.02f};
    const DraftTree tree = Guess(drafter, prompt, limits);
    EXPECT_EQ(tree.tokens, Guess(second, prompt, limits).tokens);
    nodes += tree.size();
  }
  EXPECT_GT(nodes, 1000);
}

// A corpus from the same target: guesses come true, and the text stays the same.
TEST(NgramCacheDrafterTest, TheTextStaysTheSame) {
  const FakeTarget target(64, 6);
  const auto table = TableOf({target.Prompt(400)});
  for (const float temperature : {0.0f, 0.8f}) {
    SamplingParams params;
    params.max_tokens = 100;
    params.temperature = temperature;
    const Ids prompt = {5, 6, 7};
    const FakeRun plain = RunFake(target, prompt, params, nullptr, {});
    NgramCacheDrafter with(256, table), without(256);
    const FakeRun one = RunFake(target, prompt, params, &with, {});
    const FakeRun two = RunFake(target, prompt, params, &without, {});
    EXPECT_EQ(one.tokens, plain.tokens);
    EXPECT_EQ(two.tokens, plain.tokens);
    EXPECT_GT(one.accepted, 0);
    EXPECT_EQ(RunFake(target, prompt, params, &with, {}).accepted, one.accepted);
  }
}

}  // namespace
}  // namespace hunch

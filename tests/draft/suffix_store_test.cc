// Tests of the suffix store: what its requests share, what is dropped when it is full, and its
// file.
#include "draft/suffix_store.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "draft/suffix.h"
#include "draft/tree_checks.h"
#include "support/fake_target.h"
#include "support/files.h"

namespace hunch {
namespace {

using Ids = std::vector<TokenId>;
constexpr VocabularyId kVocabulary = {0x1234567890ABCDEF, 1000};

Ids Guess(SuffixDrafter& drafter, const Ids& prompt, int nodes = 8) {
  DraftTree tree;
  EXPECT_TRUE(drafter.Start(prompt, {}).ok());
  EXPECT_TRUE(drafter.Propose(prompt, {nodes, 8, 0}, tree).ok());
  ExpectSound(tree, {nodes, 8, 0});
  ExpectSiblingsSumToAtMostOne(tree);
  return tree.tokens;
}

void RunRequest(SuffixDrafter& drafter, const Ids& prompt, const Ids& output) {
  ASSERT_TRUE(drafter.Start(prompt, {}).ok());
  Ids sequence = prompt;
  for (const TokenId token : output) {
    sequence.push_back(token);
    drafter.Observe({{}, {}, sequence});
  }
  drafter.Forget();
}

// Two indices of the same texts in the same order answer alike.
void ExpectSameIndex(const SuffixIndex& a, const SuffixIndex& b, const Ids& text) {
  ASSERT_EQ(a.states(), b.states());
  ASSERT_EQ(a.edges(), b.edges());
  SuffixIndex::State in_a = SuffixIndex::kRoot, in_b = SuffixIndex::kRoot;
  for (const TokenId token : text) {
    in_a = a.Next(in_a, token);
    in_b = b.Next(in_b, token);
    if (in_a == SuffixIndex::kNone || in_b == SuffixIndex::kNone) in_a = in_b = SuffixIndex::kRoot;
    ASSERT_EQ(a.followed(in_a), b.followed(in_b));
    ASSERT_EQ(a.branches(in_a).size(), b.branches(in_b).size());
  }
}

TEST(SuffixStoreTest, OutputsOfOtherRequestsAreGuessedAndPromptsAreNot) {
  auto store = std::make_shared<SuffixStore>();
  SuffixDrafter first(100, store), second(100, store);
  RunRequest(first, {50, 51, 52}, {1, 2, 3, 4, 5});
  EXPECT_EQ(store->requests(), 1u);
  EXPECT_EQ(store->tokens(), 5u);
  EXPECT_EQ(Guess(second, {9, 1, 2}), (Ids{3, 4, 5}));
  EXPECT_TRUE(Guess(second, {9, 50, 51}).empty());
  second.Forget();  // it had no output
  EXPECT_EQ(store->requests(), 1u);
}

TEST(SuffixStoreTest, WithoutTheSameStoreNothingIsShared) {
  SuffixDrafter first(100, std::make_shared<SuffixStore>());
  SuffixDrafter second(100, std::make_shared<SuffixStore>()), third(100);
  RunRequest(first, {50}, {1, 2, 3, 4, 5});
  EXPECT_TRUE(Guess(second, {9, 1, 2}).empty());
  EXPECT_TRUE(Guess(third, {9, 1, 2}).empty());
}

TEST(SuffixStoreTest, TheLongerMatchSpeaksFirst) {
  auto store = std::make_shared<SuffixStore>();
  store->Add(Ids{1, 2, 3, 4, 70});
  SuffixDrafter drafter(100, store);
  EXPECT_EQ(Guess(drafter, {4, 80, 1, 2, 3, 4}, 1), (Ids{70}));
  EXPECT_EQ(Guess(drafter, {3, 4, 80, 9, 3, 4, 81, 3, 4, 80, 3, 4}, 1), (Ids{80}));
}

// Another request may end, and drop old texts, between any two steps of this one.
TEST(SuffixStoreTest, AChangedStoreIsLookedUpAnew) {
  auto store = std::make_shared<SuffixStore>(40);
  SuffixDrafter drafter(100, store);
  std::mt19937 random(5);
  Ids sequence = {1, 2};
  ASSERT_TRUE(drafter.Start(sequence, {}).ok());
  for (int round = 0; round < 300; ++round) {
    if (random() % 2 == 0) {
      Ids text(1 + random() % 20);
      for (TokenId& token : text) token = static_cast<TokenId>(random() % 5);
      store->Add(text);
    }
    sequence.push_back(static_cast<TokenId>(random() % 5));
    DraftTree tree, fresh_tree;
    drafter.Observe({tree, {}, sequence});
    ASSERT_TRUE(drafter.Propose(sequence, {12, 6, 0}, tree).ok());
    ExpectSound(tree, {12, 6, 0});
    SuffixDrafter fresh(100, store);
    ASSERT_TRUE(fresh.Start(sequence, {}).ok());
    ASSERT_TRUE(fresh.Propose(sequence, {12, 6, 0}, fresh_tree).ok());
    ASSERT_EQ(tree.tokens, fresh_tree.tokens) << round;
    ASSERT_EQ(tree.probabilities, fresh_tree.probabilities) << round;
  }
}

TEST(SuffixStoreTest, TheOldestGoFirstAndTheBoundHolds) {
  std::mt19937 random(6);
  SuffixStore store(500);
  std::deque<Ids> all;
  for (int round = 0; round < 200; ++round) {
    Ids text(1 + random() % 60);
    for (TokenId& token : text) token = static_cast<TokenId>(random() % 9);
    store.Add(text);
    all.push_back(text);
    ASSERT_LE(store.tokens(), 500u);
    // What is left are the newest, and their counts are as if there never was another.
    while (all.size() > store.requests()) all.pop_front();
    SuffixIndex index;
    size_t tokens = 0;
    for (const Ids& kept : all) {
      for (const TokenId token : kept) index.Append(token);
      index.EndText();
      tokens += kept.size();
    }
    ASSERT_EQ(tokens, store.tokens());
    if (round > 60) {
      ASSERT_GE(tokens, 250u);
    }
    ASSERT_NO_FATAL_FAILURE(ExpectSameIndex(store.index(), index, text));
  }
  const Ids longer(2000, 3);
  store.Add(longer);
  EXPECT_EQ(store.tokens(), 500u);
  EXPECT_EQ(store.requests(), 1u);
  store.Add({});
  EXPECT_EQ(store.requests(), 1u);
}

TEST(SuffixStoreTest, SavesAndLoads) {
  const TempDir folder;
  const std::string path = folder.Path("a.store");
  SuffixStore store;
  const Ids texts[] = {{1, 2, 3, 4}, {7}, {1, 2, 3, 999}};
  for (const Ids& text : texts) store.Add(text);
  ASSERT_TRUE(store.Save(path, kVocabulary).ok());
  auto loaded = SuffixStore::Load(path, kVocabulary);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ((*loaded)->tokens(), 9u);
  EXPECT_EQ((*loaded)->requests(), 3u);
  for (const Ids& text : texts) ExpectSameIndex((*loaded)->index(), store.index(), text);
  // A smaller one takes the newest, and is full.
  loaded = SuffixStore::Load(path, kVocabulary, 5);
  ASSERT_TRUE(loaded.ok());
  EXPECT_LE((*loaded)->tokens(), 5u);
  EXPECT_NE((*loaded)->index().Next(SuffixIndex::kRoot, 999), SuffixIndex::kNone);
  // Saved again it is the same file, and an empty one is a file too.
  ASSERT_TRUE(store.Save(folder.Path("b.store"), kVocabulary).ok());
  EXPECT_EQ(ReadFile(path), ReadFile(folder.Path("b.store")));
  ASSERT_TRUE(SuffixStore().Save(path, kVocabulary).ok());
  loaded = SuffixStore::Load(path, kVocabulary);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ((*loaded)->requests(), 0u);
}

TEST(SuffixStoreTest, RefusesWhatIsNotItsFile) {
  const TempDir folder;
  const auto message = [&](const std::string& path, const VocabularyId& vocabulary) {
    const auto loaded = SuffixStore::Load(path, vocabulary);
    return loaded.ok() ? "loaded" : loaded.error().message;
  };
  EXPECT_NE(message(folder.Path("none"), kVocabulary).find("suffix store"), std::string::npos);
  EXPECT_NE(message(folder.path(), kVocabulary).find("directory"), std::string::npos);
  EXPECT_NE(message(folder.Write("text", std::string(100, 'a')), kVocabulary).find("not a suffix"),
            std::string::npos);
  SuffixStore store;
  store.Add(Ids{1, 2, 999});
  const std::string path = folder.Path("a.store");
  ASSERT_TRUE(store.Save(path, kVocabulary).ok());
  EXPECT_NE(message(path, {kVocabulary.fingerprint + 1, 1000}).find("vocabulary"),
            std::string::npos);
  EXPECT_NE(message(path, {kVocabulary.fingerprint, 999}).find("vocabulary"), std::string::npos);
  ASSERT_TRUE(store.Save(path, {1, 999}).ok());  // ids above the vocabulary that it names
  EXPECT_NE(message(path, {1, 999}).find("token id 999"), std::string::npos);
  EXPECT_FALSE(store.Save(folder.Path("no/such/folder"), kVocabulary).ok());
}

TEST(SuffixStoreTest, AnyCutAndAnyFlippedBitIsSeen) {
  const TempDir folder;
  SuffixStore store;
  store.Add(Ids{1, 2, 3});
  store.Add(Ids{4, 5});
  const std::string path = folder.Path("a.store");
  ASSERT_TRUE(store.Save(path, kVocabulary).ok());
  const std::string whole = ReadFile(path);
  const auto loads = [](const std::string& bytes) {
    auto file = TableFile::Parse(std::as_bytes(std::span(bytes)), "changed", SuffixStore::kKind,
                                 kVocabulary);
    return file.ok() && SuffixStore::Parse(std::move(*file), kVocabulary, 100).ok();
  };
  ASSERT_TRUE(loads(whole));
  EXPECT_FALSE(loads(whole + '\0'));
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(loads(whole.substr(0, size)));
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    EXPECT_FALSE(loads(flipped)) << bit;
  }
}

// Two requests with one target and a store: the second is guessed better, and its text is the same.
TEST(SuffixStoreTest, ASecondRequestGainsAndItsTextStays) {
  const FakeTarget target(64, 8);
  SamplingParams params;
  params.max_tokens = 80;
  const Ids prompt = {1, 2, 3};
  const FakeRun plain = RunFake(target, prompt, params, nullptr, {});
  auto store = std::make_shared<SuffixStore>();
  SuffixDrafter one(100, store), two(100, store);
  const FakeRun first = RunFake(target, prompt, params, &one, {});
  const FakeRun second = RunFake(target, prompt, params, &two, {});
  EXPECT_EQ(first.tokens, plain.tokens);
  EXPECT_EQ(second.tokens, plain.tokens);
  EXPECT_EQ(store->requests(), 2u);
  EXPECT_LT(second.steps.size(), first.steps.size());
}

}  // namespace
}  // namespace hunch

// Tests of the head as a drafter: whatever way it came to know what is committed, it guesses the
// same. The target is a tiny model, so features are real ones.
#include "draft/head_drafter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <string>

#include "draft/draft_passes.h"
#include "support/heads.h"
#include "support/model_runner.h"

namespace hunch {
namespace {

using Ids = std::vector<TokenId>;

constexpr int kVocab = 288;
constexpr int kBlocks = 32;
constexpr int kContext = 300;
constexpr ForwardLimits kTargetLimits = {.max_rows = 64, .max_logit_rows = 16};
constexpr ForwardLimits kLimits = {.max_rows = 64, .max_logit_rows = 8};
constexpr ProposeLimits kTwelve = {.max_nodes = 12, .max_depth = 100, .min_path_probability = 0};

// What two trees have to have in common to be the same guesses.
struct Guesses {
  explicit Guesses(const DraftTree& tree)
      : tokens(tree.tokens), parents(tree.parents), beliefs(tree.probabilities) {}
  bool operator==(const Guesses&) const = default;
  Ids tokens;
  std::vector<int32_t> parents;
  std::vector<float> beliefs;
};

class HeadDrafterTest : public testing::Test {
 protected:
  std::unique_ptr<HeadDrafter> Started(HeadModel& head, BlockPool& pool, const Ids& prompt,
                                       PrefixCache::Salt salt = nullptr) {
    auto drafter = std::make_unique<HeadDrafter>(
        head, pool, kVocab, kContext, Ids{},
        TreeDrafterOptions{.branches = 3, .expand = 4, .cache_salt = std::move(salt)});
    EXPECT_TRUE(drafter->Start(prompt, params_).ok());
    return drafter;
  }
  std::unique_ptr<HeadDrafter> Started(const Ids& prompt) {
    return Started(*head_.model, pool_, prompt);
  }
  static Ids RandomText(size_t length, uint32_t seed) {
    std::mt19937 random(seed);
    Ids text(length);
    for (TokenId& token : text) token = static_cast<TokenId>(random() % kVocab);
    return text;
  }
  // A pass of the target over tokens [begin, end) of the text, which are all in its cache before.
  void ReadText(HeadDrafter& drafter, const Ids& text, int begin, int end,
                std::span<const int32_t> parents = {}) {
    const SequenceRows rows = {.blocks = blocks_,
                               .committed = begin,
                               .tokens = std::span(text).subspan(begin, end - begin),
                               .parents = parents,
                               .logits_from = end - begin};
    target_.ForwardTapped({&rows, 1}, drafter.reader().taps());
  }
  static Status Hand(HeadDrafter& drafter, const Ids& committed, int first,
                     const std::vector<int32_t>& rows) {
    const Status status = drafter.TakeHidden({committed, first, rows});
    drafter.reader().Read();
    return status;
  }
  static std::vector<int32_t> FirstRows(int count) {
    std::vector<int32_t> rows(count);
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
  }
  // Reads the text but for its last token, from `begin` on in passes of at most `chunk` rows, and
  // hands the drafter all of it.
  void Feed(HeadDrafter& drafter, const Ids& text, int begin, int chunk = 64) {
    const int last = static_cast<int>(text.size()) - 1;
    for (int at = 0; at < last;) {
      const int end = std::min(last, at < begin ? begin : at + chunk);
      ReadText(drafter, text, at, end);
      if (at >= begin) {
        ASSERT_TRUE(Hand(drafter, text, at, FirstRows(end - at)).ok());
      }
      at = end;
    }
  }
  Guesses Propose(HeadDrafter& drafter, const Ids& text) {
    DraftTree tree;
    EXPECT_TRUE(drafter.Propose(text, kTwelve, tree).ok());
    return Guesses(tree);
  }
  // Of a drafter that reads everything itself, with a head and memory of its own.
  Guesses Cold(const Ids& text) {
    BlockPool pool(kBlocks);
    const auto drafter = Started(*other_.model, pool, text);
    Feed(*drafter, text, 0);
    return Propose(*drafter, text);
  }

  ThreadPool threads_{2};
  std::unique_ptr<Model> model_ =
      Model::Load(GgufFile::Open(TinyModelPath("llama")).value(), threads_, kTargetLimits).value();
  ModelTarget target_{*model_, ModelKv::Create(model_->config(), KvType::kF16, kBlocks).value()};
  std::vector<std::byte> bytes_ = HeadBytes(SmallHead(model_->config(), kVocab), RandomValues(3));
  LoadedHead head_{bytes_, *model_, threads_, kLimits, kBlocks};
  LoadedHead other_{bytes_, *model_, threads_, kLimits, kBlocks};
  BlockPool pool_{kBlocks};
  std::vector<int32_t> blocks_ = [] {
    std::vector<int32_t> all;
    for (int32_t block = kBlocks - 1; block >= 0; --block) all.push_back(block);
    return all;
  }();
  SamplingParams params_;
};

TEST_F(HeadDrafterTest, GrowsATreeAndHowItsTextCameDoesNotMatter) {
  for (const float temperature : {0.0f, 0.9f}) {
    params_.temperature = temperature;
    const Ids text = RandomText(53, 1);
    const Guesses whole = Cold(text);
    EXPECT_EQ(whole.tokens.size(), 12u);
    EXPECT_GT(std::count(whole.parents.begin(), whole.parents.end(), -1), 1);
    EXPECT_LT(std::count(whole.parents.begin(), whole.parents.end(), -1), 12);
    for (const int chunk : {1, 5, 16, 20}) {
      const auto drafter = Started(text);
      Feed(*drafter, text, 0, chunk);
      EXPECT_EQ(Propose(*drafter, text), whole) << "chunks of " << chunk;
      EXPECT_EQ(Propose(*drafter, text), whole) << "asked twice";
    }
  }
  EXPECT_EQ(pool_.free_blocks(), kBlocks);
}

// Steps as the engine has them: a guess or two is accepted, one token is the target's own. What the
// head made of guesses is forgotten for what the target's hidden states say.
TEST_F(HeadDrafterTest, AfterEachStepItKnowsWhatAFreshOneKnows) {
  Ids text = RandomText(20, 2);
  const auto drafter = Started(text);
  Feed(*drafter, text, 0);
  std::mt19937 random(4);
  DraftTree tree;
  for (int step = 0; step < 24; ++step) {
    const int committed = static_cast<int>(text.size());
    if (step % 4 == 3) {
      tree.clear();  // a plain step
    } else {
      ASSERT_TRUE(drafter->Propose(text, kTwelve, tree).ok());
    }
    // The pass: the last token, then the tree.
    Ids pass = text;
    std::vector<int32_t> parents = {-1};
    for (int node = 0; node < tree.size(); ++node) {
      pass.push_back(tree.tokens[node]);
      parents.push_back(1 + tree.parents[node]);
    }
    ReadText(*drafter, pass, committed - 1, static_cast<int>(pass.size()), parents);
    std::vector<int32_t> rows = {0};
    int slot = committed;
    for (int32_t node = -1; random() % 4 != 0;) {
      std::vector<int32_t> children;
      for (int32_t child = node + 1; child < tree.size(); ++child) {
        if (tree.parents[child] == node) children.push_back(child);
      }
      if (children.empty()) break;
      node = children[random() % children.size()];
      rows.push_back(1 + node);
      text.push_back(tree.tokens[node]);
      target_.MoveSlot(blocks_, committed + node, slot++);
    }
    text.push_back(static_cast<TokenId>(random() % kVocab));
    ASSERT_TRUE(Hand(*drafter, text, committed - 1, rows).ok());
    EXPECT_EQ(Propose(*drafter, text), Cold(text)) << "step " << step;
  }
  drafter->Forget();
  EXPECT_EQ(pool_.free_blocks(), kBlocks);
}

TEST_F(HeadDrafterTest, WhatComesAgainChangesNothing) {
  const Ids text = RandomText(50, 5);
  const auto drafter = Started(text);
  Feed(*drafter, text, 0, 30);
  for (const int from : {0, 13, 48}) {
    for (int at = from; at < 49; at += 20) {
      const int end = std::min(49, at + 20);
      ReadText(*drafter, text, at, end);
      ASSERT_TRUE(Hand(*drafter, text, at, FirstRows(end - at)).ok());
    }
    EXPECT_EQ(Propose(*drafter, text), Cold(text));
  }
}

TEST_F(HeadDrafterTest, KnowsNothingWithoutTheLastFeature) {
  const Ids text = RandomText(30, 6);
  const auto drafter = Started(text);
  EXPECT_TRUE(Propose(*drafter, text).tokens.empty()) << "nothing was read";
  Feed(*drafter, text, 0);
  Ids longer = text;
  longer.push_back(5);
  EXPECT_TRUE(Propose(*drafter, longer).tokens.empty()) << "a pass is missing";
  EXPECT_EQ(Propose(*drafter, text), Cold(text));
}

// It began late, so it has less to look at, and guesses all the same.
TEST_F(HeadDrafterTest, GoesOnBehindAGap) {
  const Ids text = RandomText(60, 7);
  const auto drafter = Started(text);
  Feed(*drafter, text, 40);
  const Guesses late = Propose(*drafter, text);
  EXPECT_EQ(late.tokens.size(), 12u);
  // Rows look back only, and at distances: the same tokens alone, after one that has no row.
  EXPECT_NE(late, Cold(text));
  Ids more = text;
  more.push_back(9);
  ReadText(*drafter, more, 59, 60);
  ASSERT_TRUE(Hand(*drafter, more, 59, {0}).ok());
  EXPECT_EQ(Propose(*drafter, more).tokens.size(), 12u);
}

// Requests over one pool that shares: those that begin alike take over what was read, if the target
// does too, and with it the same guesses; and never of other texts.
TEST_F(HeadDrafterTest, WhatOthersHaveReadIsTakenOver) {
  BlockPool shared(kBlocks, true);
  const Ids text = RandomText(60, 8);
  const Guesses cold = Cold(text);
  {
    const auto first = Started(*head_.model, shared, text);
    Feed(*first, text, 0, 25);  // what the last pass gave is shared with the next one
    EXPECT_EQ(Propose(*first, text), cold);
    Ids more = text;
    more.push_back(9);
    ReadText(*first, more, 59, 60);
    ASSERT_TRUE(Hand(*first, more, 59, {0}).ok());
    EXPECT_EQ(Propose(*first, more), Cold(more));
  }
  EXPECT_EQ(shared.prefixes()->idle_blocks(), 3) << "rows 0 to 47 of 58";
  const auto second = Started(*head_.model, shared, text);
  Feed(*second, text, 48);
  EXPECT_EQ(Propose(*second, text), cold);
  // Another first token, which no slot stands for, is another text.
  Ids other = text;
  other[0] = (other[0] + 1) % kVocab;
  const auto third = Started(*head_.model, shared, other);
  Feed(*third, other, 48);
  EXPECT_NE(Propose(*third, other), Cold(other)) << "it was to start behind a gap";
  const auto salted =
      Started(*head_.model, shared, text, std::make_shared<const std::string>("mine"));
  Feed(*salted, text, 48);
  EXPECT_NE(Propose(*salted, text), cold);
}

TEST_F(HeadDrafterTest, SharesPassesWithOthers) {
  const Ids texts[] = {RandomText(20, 9), RandomText(33, 10), RandomText(47, 11)};
  std::vector<Guesses> alone;
  for (const Ids& text : texts) alone.push_back(Cold(text));
  std::vector<std::unique_ptr<HeadDrafter>> drafters;
  std::vector<DraftTree> trees(std::size(texts));
  std::vector<DraftAsk> asks;
  for (size_t i = 0; i < std::size(texts); ++i) {
    drafters.push_back(Started(texts[i]));
    Feed(*drafters[i], texts[i], 0);
    asks.push_back({.drafter = drafters[i].get(),
                    .committed = texts[i],
                    .limits = kTwelve,
                    .tree = &trees[i]});
  }
  DraftPasses passes;
  passes.Begin(asks);
  int count = 0;
  while (passes.Next()) ++count;
  for (size_t i = 0; i < std::size(texts); ++i) {
    EXPECT_TRUE(asks[i].status.ok());
    EXPECT_EQ(Guesses(trees[i]), alone[i]);
    EXPECT_LT(drafters[i]->passes(), count + 1);
  }
  EXPECT_LT(count, drafters[0]->passes() + drafters[1]->passes() + drafters[2]->passes());
}

TEST_F(HeadDrafterTest, WithoutMemoryItFailsAndGivesAllBack) {
  BlockPool small(2);
  const Ids text = RandomText(50, 12);
  const auto drafter = Started(*head_.model, small, text);
  ReadText(*drafter, text, 0, 49);
  const Status full = Hand(*drafter, text, 0, FirstRows(49));
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().message, "the head's KV cache is full");
  drafter->Forget();
  EXPECT_EQ(small.free_blocks(), 2);
  // Room for what is committed and a few slots: a smaller tree.
  const Ids shorter(text.begin(), text.begin() + 26);
  ASSERT_TRUE(drafter->Start(shorter, params_).ok());
  Feed(*drafter, shorter, 0);
  const Guesses guesses = Propose(*drafter, shorter);
  EXPECT_GT(guesses.tokens.size(), 0u);
}

TEST_F(HeadDrafterTest, UnderRatioItLeavesTheLawItDrewFrom) {
  params_.temperature = 1.0f;
  params_.acceptance = AcceptanceRule::kRatio;
  const Ids text = RandomText(30, 13);
  const auto drafter = Started(text);
  Feed(*drafter, text, 0);
  DraftTree tree;
  ASSERT_TRUE(drafter->Propose(text, kTwelve, tree).ok());
  ASSERT_FALSE(tree.empty());
  ASSERT_EQ(tree.law_width, kVocab);
  for (int node = 0; node < tree.size(); ++node) {
    ASSERT_NE(tree.laws[node], DraftTree::kCertain);
    const float* law = tree.law_rows.data() + tree.laws[node] * kVocab;
    EXPECT_GT(law[tree.tokens[node]], 0.0f);
  }
}

}  // namespace
}  // namespace hunch

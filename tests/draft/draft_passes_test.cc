// Tests of shared passes: what each drafter proposes in a batch is what it proposes alone, to the
// bit, and the batch takes as many passes as the one of its sequences that wants most.
#include "draft/draft_passes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "draft/draft_model.h"
#include "support/fake_kv_target.h"
#include "support/model_runner.h"

namespace hunch {
namespace {

using Ids = std::vector<TokenId>;

constexpr int kVocab = 48;
constexpr int kBlocks = 256;
constexpr ForwardLimits kWide = {.max_rows = 512, .max_logit_rows = 64};
constexpr ForwardLimits kNarrow = {.max_rows = 24, .max_logit_rows = 5};
constexpr ProposeLimits kEight = {.max_nodes = 8, .max_depth = 100, .min_path_probability = 0.02f};

void ExpectSameTree(const DraftTree& tree, const DraftTree& other) {
  EXPECT_EQ(tree.tokens, other.tokens);
  EXPECT_EQ(tree.parents, other.parents);
  EXPECT_EQ(tree.probabilities, other.probabilities);
  EXPECT_EQ(tree.laws, other.laws);
  EXPECT_EQ(tree.law_rows, other.law_rows);
}

// The same sequences twice: guessed at together, and each alone with a cache of its own.
class Twins {
 public:
  // Each target is another KV memory of the same model.
  Twins(Target& together, Target& alone, const SamplingParams& params,
        const TreeDrafterOptions& options, const std::vector<Ids>& prompts)
      : texts_(prompts) {
    const int vocab = together.vocab();
    for (size_t i = 0; i < prompts.size(); ++i) {
      SamplingParams own = params;
      own.seed = 100 + i;
      together_.push_back(
          std::make_unique<DraftModel>(together, pool_, vocab, 600, Ids{}, options));
      alone_.push_back(
          std::make_unique<DraftModel>(alone, alone_pool_, vocab, 600, Ids{}, options));
      EXPECT_TRUE(together_[i]->Start(prompts[i], own).ok());
      EXPECT_TRUE(alone_[i]->Start(prompts[i], own).ok());
    }
    trees_.resize(prompts.size());
    alone_trees_.resize(prompts.size());
  }

  // The passes that the batch took; `most` and `sum` are what its sequences take alone.
  int64_t Step(int64_t& most, int64_t& sum) {
    std::vector<DraftAsk> asks;
    for (size_t i = 0; i < texts_.size(); ++i) {
      asks.push_back({together_[i].get(), texts_[i], kEight, &trees_[i]});
    }
    DraftPasses passes;
    passes.Begin(asks);
    int64_t count = 0;
    while (passes.Next()) {
      ++count;
      int rows = 0;
      for (const DraftAsk& ask : asks) rows += ask.rows;
      EXPECT_EQ(passes.rows(), rows);
    }
    most = sum = 0;
    for (size_t i = 0; i < texts_.size(); ++i) {
      EXPECT_TRUE(asks[i].status.ok());
      const int64_t before = alone_[i]->passes();
      EXPECT_TRUE(alone_[i]->Propose(texts_[i], kEight, alone_trees_[i]).ok());
      ExpectSameTree(trees_[i], alone_trees_[i]);
      EXPECT_FALSE(trees_[i].empty());
      most = std::max(most, alone_[i]->passes() - before);
      sum += alone_[i]->passes() - before;
    }
    return count;
  }

  // Some of the guesses come true, and one token more.
  void Commit(int step) {
    for (size_t i = 0; i < texts_.size(); ++i) {
      int32_t node = -1;
      for (size_t wanted = (i + static_cast<size_t>(step)) % 4; wanted > 0; --wanted) {
        int32_t child = DraftTree::kNoNode;
        for (int32_t at = node + 1; at < trees_[i].size(); ++at) {
          if (trees_[i].parents[at] == node) child = at;
        }
        if (child == DraftTree::kNoNode) break;
        texts_[i].push_back(trees_[i].tokens[child]);
        node = child;
      }
      texts_[i].push_back((step * 7 + static_cast<TokenId>(i)) % 40);
    }
  }

  void Finish() {
    for (const auto& drafter : together_) drafter->Forget();
    EXPECT_EQ(pool_.free_blocks(), kBlocks);
  }

 private:
  BlockPool pool_{kBlocks}, alone_pool_{kBlocks};
  std::vector<Ids> texts_;
  std::vector<std::unique_ptr<DraftModel>> together_, alone_;
  std::vector<DraftTree> trees_, alone_trees_;
};

using Case = std::tuple<TreeDrafterOptions, float, AcceptanceRule>;

class SharedPasses : public testing::TestWithParam<Case> {
 protected:
  SamplingParams Params() const {
    SamplingParams params;
    params.temperature = std::get<1>(GetParam());
    params.acceptance = std::get<2>(GetParam());
    return params;
  }
  const TreeDrafterOptions& options() const { return std::get<0>(GetParam()); }
};

TEST_P(SharedPasses, EachProposesWhatItProposesAlone) {
  const FakeTarget fake(kVocab, 5);
  const std::vector<Ids> prompts = {fake.Prompt(40), fake.Prompt(1), fake.Prompt(7),
                                    fake.Prompt(130), fake.Prompt(63)};
  for (const ForwardLimits& limits : {kWide, kNarrow}) {
    FakeKvTarget together(fake, kBlocks, limits), alone(fake, kBlocks, limits);
    Twins twins(together, alone, Params(), options(), prompts);
    for (int step = 0; step < 6; ++step) {
      const int64_t before = together.passes;
      int64_t most = 0, sum = 0;
      const int64_t passes = twins.Step(most, sum);
      EXPECT_EQ(together.passes - before, passes);
      if (limits.max_rows == kWide.max_rows) {
        EXPECT_EQ(passes, most) << "step " << step;
      } else {
        EXPECT_GE(passes, most);
      }
      EXPECT_LT(passes, sum);
      twins.Commit(step);
    }
    twins.Finish();
  }
}

// The real arithmetic: rows of other sequences change no bit.
TEST_P(SharedPasses, OnARealModelToo) {
  ThreadPool threads(2);
  for (const char* name : {"llama", "qwen3"}) {
    const auto model =
        Model::Load(GgufFile::Open(TinyModelPath(name)).value(), threads, kNarrow).value();
    const auto target = [&] {
      return std::make_unique<ModelTarget>(
          *model, ModelKv::Create(model->config(), KvType::kF16, kBlocks).value());
    };
    const auto together = target(), alone = target();
    std::vector<Ids> prompts;
    for (const int length : {30, 2, 50, 11}) {
      Ids& prompt = prompts.emplace_back();
      for (int i = 0; i < length; ++i) prompt.push_back((i * 11 + length) % 40);
    }
    Twins twins(*together, *alone, Params(), options(), prompts);
    for (int step = 0; step < 4; ++step) {
      int64_t most = 0, sum = 0;
      EXPECT_LT(twins.Step(most, sum), sum);
      twins.Commit(step);
    }
    twins.Finish();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, SharedPasses,
    testing::Combine(testing::Values(TreeDrafterOptions{},
                                     TreeDrafterOptions{.branches = 3, .expand = 2}),
                     testing::Values(0.0f, 0.8f),
                     testing::Values(AcceptanceRule::kCoupled, AcceptanceRule::kRatio)),
    [](const testing::TestParamInfo<Case>& info) {
      return std::string(std::get<0>(info.param).branches == 1 ? "chain" : "tree") +
             (std::get<1>(info.param) == 0 ? "_cold" : "_warm") +
             (std::get<2>(info.param) == AcceptanceRule::kRatio ? "_ratio" : "_coupled");
    });

class DraftPassesTest : public testing::Test {
 protected:
  std::unique_ptr<DraftModel> Make(Target& target, BlockPool& pool,
                                   const TreeDrafterOptions& options = {}) {
    auto drafter = std::make_unique<DraftModel>(target, pool, kVocab, 500, Ids{}, options);
    EXPECT_TRUE(drafter->Start(fake_.Prompt(1), {}).ok());
    return drafter;
  }
  DraftTree Alone(const Ids& text, const TreeDrafterOptions& options = {}) {
    FakeKvTarget target(fake_, kBlocks, kWide);
    BlockPool pool(kBlocks);
    DraftTree tree;
    EXPECT_TRUE(Make(target, pool, options)->Propose(text, kEight, tree).ok());
    return tree;
  }

  FakeTarget fake_{kVocab, 5};
};

TEST_F(DraftPassesTest, OneThatFailsLeavesTheOthersAlone) {
  FakeKvTarget target(fake_, kBlocks, kNarrow);
  // The blocks of the pool are the same memory: the second one must not write to it.
  BlockPool pool(kBlocks), none(0);
  const auto first = Make(target, pool), second = Make(target, none), third = Make(target, pool);
  const Ids text = fake_.Prompt(30), other = fake_.Prompt(50);
  DraftTree trees[3];
  trees[1].Add(1, -1, 1);
  DraftAsk asks[] = {{first.get(), text, kEight, &trees[0]},
                     {second.get(), text, kEight, &trees[1]},
                     {third.get(), other, kEight, &trees[2]}};
  DraftPasses passes;
  passes.Begin(asks);
  while (passes.Next()) {
  }
  EXPECT_TRUE(asks[0].status.ok());
  ASSERT_FALSE(asks[1].status.ok());
  EXPECT_EQ(asks[1].status.error().message, "the draft model's KV cache is full");
  EXPECT_TRUE(asks[2].status.ok());
  ExpectSameTree(trees[0], Alone(text));
  EXPECT_TRUE(trees[1].empty());
  ExpectSameTree(trees[2], Alone(other));
}

TEST_F(DraftPassesTest, DraftersOfTwoModelsDoNotMix) {
  const FakeTarget other(kVocab, 77);
  FakeKvTarget target(fake_, kBlocks, kWide), another(other, kBlocks, kWide);
  BlockPool pool(kBlocks), another_pool(kBlocks);
  const auto a = Make(target, pool), b = Make(another, another_pool), c = Make(target, pool);
  const Ids text = fake_.Prompt(30);
  DraftTree trees[3];
  DraftAsk asks[] = {{a.get(), text, kEight, &trees[0]},
                     {b.get(), text, kEight, &trees[1]},
                     {c.get(), text, kEight, &trees[2]}};
  DraftPasses passes;
  passes.Begin(asks);
  while (passes.Next()) EXPECT_TRUE(asks[1].rows == 0 || asks[0].rows + asks[2].rows == 0);
  ExpectSameTree(trees[0], Alone(text));
  ExpectSameTree(trees[2], trees[0]);
  EXPECT_NE(trees[1].tokens, trees[0].tokens);
  EXPECT_EQ(target.passes, a->passes());
  EXPECT_EQ(another.passes, b->passes());
}

// Someone else's long prompt takes the room that the short ones leave, and no more.
TEST_F(DraftPassesTest, NobodyWaitsForALongPrompt) {
  FakeKvTarget target(fake_, kBlocks, kNarrow);
  BlockPool pool(kBlocks);
  const auto reader = Make(target, pool), quick = Make(target, pool);
  const Ids prompt = fake_.Prompt(200), text = fake_.Prompt(5);
  DraftTree trees[2];
  DraftAsk asks[] = {{reader.get(), prompt, kEight, &trees[0]},
                     {quick.get(), text, kEight, &trees[1]}};
  DraftPasses passes;
  passes.Begin(asks);
  int64_t count = 0, quick_done = 0;
  while (passes.Next()) {
    ++count;
    if (asks[1].rows > 0) quick_done = count;
  }
  EXPECT_EQ(quick_done, quick->passes());
  ExpectSameTree(trees[1], Alone(text));
  ExpectSameTree(trees[0], Alone(prompt));
  // 200 rows beside the short one's, at 24 a pass; then a pass for each guess but the last.
  EXPECT_LE(count, (200 + 5 + 7 + 23) / 24 + 7);
}

// Of three that want two rows with logits each, a pass can take two: each waits in turn.
TEST_F(DraftPassesTest, WhoFoundNoRoomComesFirstTheNextTime) {
  const TreeDrafterOptions options = {.branches = 2, .expand = 2};
  FakeKvTarget target(fake_, kBlocks, kNarrow);
  BlockPool pool(kBlocks);
  std::vector<std::unique_ptr<DraftModel>> drafters;
  std::vector<Ids> texts;
  DraftTree trees[3];
  std::vector<DraftAsk> asks;
  for (int i = 0; i < 3; ++i) {
    drafters.push_back(Make(target, pool, options));
    texts.push_back(fake_.Prompt(5 + i));
  }
  for (int i = 0; i < 3; ++i) asks.push_back({drafters[i].get(), texts[i], kEight, &trees[i]});
  DraftPasses passes;
  passes.Begin(asks);
  int waited[3] = {}, in_a_row[3] = {};
  while (passes.Next()) {
    for (int i = 0; i < 3; ++i) {
      const bool waits = asks[i].rows == 0 && drafters[i]->wanted_rows() > 0;
      in_a_row[i] = waits ? in_a_row[i] + 1 : 0;
      waited[i] += waits;
      EXPECT_LE(in_a_row[i], 1);
    }
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_GT(waited[i], 0) << i;
    ExpectSameTree(trees[i], Alone(texts[i], options));
  }
}

// A proposal that is given up half-way leaves nothing behind.
TEST_F(DraftPassesTest, AProposalMayBeGivenUp) {
  for (const int after : {0, 1, 2, 4}) {
    FakeKvTarget target(fake_, kBlocks, kNarrow);
    BlockPool pool(kBlocks);
    const TreeDrafterOptions options = {.branches = 2, .expand = 2};
    const auto drafter = Make(target, pool, options);
    const Ids text = fake_.Prompt(40);
    DraftTree tree;
    DraftAsk ask = {drafter.get(), text, kEight, &tree};
    DraftPasses passes;
    passes.Begin({&ask, 1});
    for (int i = 0; i < after; ++i) ASSERT_TRUE(passes.Next());
    // A guess came true whose keys and values went with the proposal.
    Ids longer = text;
    longer.push_back(Alone(text, options).tokens[0]);
    longer.push_back(3);
    ASSERT_TRUE(drafter->Propose(longer, kEight, tree).ok());
    ExpectSameTree(tree, Alone(longer, options));
    passes.Begin({&ask, 1});
    for (int i = 0; i < after; ++i) ASSERT_TRUE(passes.Next());
    drafter->Forget();
    EXPECT_EQ(drafter->wanted_rows(), 0);
    EXPECT_EQ(pool.free_blocks(), kBlocks);
  }
}

}  // namespace
}  // namespace hunch

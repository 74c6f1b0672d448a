// Tests of the chain of drafters: whose tree is used, who observes, and what a failure costs.
#include "draft/chained.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "draft/ngram.h"
#include "support/fake_drafters.h"
#include "support/fake_target.h"

namespace hunch {
namespace {

using Ids = std::vector<TokenId>;

class ChainedDrafterTest : public testing::Test {
 protected:
  // Two scripted drafters that propose one token each (-1: nothing).
  ChainedDrafterTest() {
    for (int i = 0; i < 2; ++i) {
      auto drafter = std::make_unique<ScriptedDrafter>([this, i](auto, const auto&) {
        return says_[i] < 0 ? DraftTree{} : ChainOf(Ids{says_[i]});
      });
      parts_[i] = drafter.get();
      owned_.push_back(std::move(drafter));
    }
    chain_ = std::make_unique<ChainedDrafter>(std::move(owned_));
  }
  Ids Propose() {
    DraftTree tree;
    tree.Add(99, -1, 1);  // of the last step
    const Status status = chain_->Propose(Ids{1}, {4, 4, 0}, tree);
    EXPECT_TRUE(status.ok());
    return tree.tokens;
  }

  TokenId says_[2] = {3, 4};
  std::vector<std::unique_ptr<Drafter>> owned_;
  ScriptedDrafter* parts_[2];
  std::unique_ptr<ChainedDrafter> chain_;
};

TEST_F(ChainedDrafterTest, TheFirstThatHasAGuessGivesIt) {
  ASSERT_TRUE(chain_->Start(Ids{1}, {}).ok());
  EXPECT_EQ(Propose(), (Ids{3}));
  EXPECT_EQ(parts_[1]->proposals, 0);
  says_[0] = -1;
  EXPECT_EQ(Propose(), (Ids{4}));
  says_[1] = -1;
  EXPECT_EQ(Propose(), (Ids{}));
  EXPECT_EQ(chain_->counts(0).trees, 1);
  EXPECT_EQ(chain_->counts(1).trees, 1);
}

TEST_F(ChainedDrafterTest, AllStartObserveAndForget) {
  ASSERT_TRUE(chain_->Start(Ids{1}, {}).ok());
  chain_->Observe({ChainOf(Ids{3}), std::vector<int32_t>{0}, Ids{1, 3, 5}});
  chain_->Forget();
  for (const ScriptedDrafter* part : parts_) {
    EXPECT_EQ(part->starts, 1);
    EXPECT_EQ(part->observations, 1);
    EXPECT_EQ(part->forgets, 1);
  }
  EXPECT_EQ(chain_->name(), "scripted+scripted");
}

TEST_F(ChainedDrafterTest, AFailingPartIsDroppedForTheRequestOnly) {
  parts_[0]->FailFrom(1);
  ASSERT_TRUE(chain_->Start(Ids{1}, {}).ok());
  EXPECT_EQ(Propose(), (Ids{3}));
  EXPECT_EQ(Propose(), (Ids{4}));  // the failed part's tree is not used
  EXPECT_TRUE(chain_->dropped(0));
  EXPECT_EQ(chain_->counts(0).failures, 1);
  EXPECT_EQ(chain_->counts(0).last_error, "scripted failure");
  EXPECT_EQ(parts_[0]->forgets, 1);
  chain_->Observe({{}, {}, Ids{1, 4}});
  EXPECT_EQ(parts_[0]->observations, 0);
  EXPECT_EQ(parts_[1]->observations, 1);
  ASSERT_TRUE(chain_->Start(Ids{1}, {}).ok());
  EXPECT_FALSE(chain_->dropped(0));
  EXPECT_EQ(parts_[0]->starts, 2);
}

TEST_F(ChainedDrafterTest, OnlyWhenAllHaveFailedTheChainFails) {
  parts_[0]->FailStart();
  ASSERT_TRUE(chain_->Start(Ids{1}, {}).ok());
  EXPECT_EQ(Propose(), (Ids{4}));
  parts_[1]->FailFrom(0);
  DraftTree tree;
  const Status status = chain_->Propose(Ids{1}, {4, 4, 0}, tree);
  ASSERT_FALSE(status.ok());
  EXPECT_TRUE(tree.empty());
  EXPECT_NE(status.error().message.find("scripted start failure"), std::string::npos);
  EXPECT_NE(status.error().message.find("scripted failure"), std::string::npos);
  parts_[1]->FailStart();
  EXPECT_FALSE(chain_->Start(Ids{1}, {}).ok());
}

// Lookup in front of a drafter that knows the truth: the chain drafts at least as often, the text
// stays, and lookup has seen the tokens that the other's guesses brought.
TEST(ChainedDrafterRunTest, LookupLearnsFromStepsItDidNotPropose) {
  const FakeTarget target(96, 2);
  const Ids prompt = {1, 2, 3};
  SamplingParams params;
  params.max_tokens = 80;
  const FakeRun plain = RunFake(target, prompt, params, nullptr, {});
  Ids whole = prompt;
  whole.insert(whole.end(), plain.tokens.begin(), plain.tokens.end());
  std::vector<std::unique_ptr<Drafter>> parts;
  parts.push_back(std::make_unique<NgramDrafter>(NgramOptions{}));
  parts.push_back(std::make_unique<ScriptedDrafter>(TrueContinuation(whole, 96)));
  ChainedDrafter chain(std::move(parts));
  const FakeRun run = RunFake(target, prompt, params, &chain, {});
  EXPECT_EQ(run.tokens, plain.tokens);
  EXPECT_GT(chain.counts(0).trees, 0);
  EXPECT_GT(chain.counts(1).trees, 0);
  EXPECT_EQ(chain.counts(0).failures, 0);
}

}  // namespace
}  // namespace hunch

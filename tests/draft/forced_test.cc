#include "draft/forced.h"

#include <gtest/gtest.h>

#include "draft/tree_checks.h"
#include "support/fake_constraint.h"

namespace hunch {
namespace {

constexpr int kVocab = 50;

// "1 2 3 4 5 6", then anything.
bool Counts(const std::vector<TokenId>& output, TokenId token) {
  return output.size() >= 6 || token == static_cast<TokenId>(output.size()) + 1;
}

std::vector<TokenId> Guess(ForcedDrafter& drafter, const std::vector<TokenId>& committed,
                           ProposeLimits limits) {
  DraftTree tree;
  EXPECT_TRUE(drafter.Propose(committed, limits, tree).ok());
  ExpectSound(tree, limits);
  for (int node = 0; node < tree.size(); ++node) EXPECT_EQ(tree.parents[node], node - 1);
  return tree.tokens;
}

TEST(ForcedDrafter, GuessesWhatAloneMayFollow) {
  ForcedDrafter drafter(std::make_unique<FakeConstraint>(kVocab, Counts), kVocab);
  ASSERT_TRUE(drafter.Start(std::vector<TokenId>{9, 9}, {}).ok());
  using Ids = std::vector<TokenId>;
  EXPECT_EQ(Guess(drafter, {9, 9}, {8, 8, 0}), (Ids{1, 2, 3, 4}));
  EXPECT_EQ(Guess(drafter, {9, 9, 1, 2, 3}, {8, 8, 0}), (Ids{4, 5, 6}));
  EXPECT_EQ(Guess(drafter, {9, 9, 1}, {2, 8, 0}), (Ids{2, 3}));
  EXPECT_EQ(Guess(drafter, {9, 9, 1}, {8, 1, 0}), (Ids{2}));
  EXPECT_EQ(Guess(drafter, {9, 9, 1, 2, 3, 4, 5, 6, 7}, {8, 8, 0}), Ids{});
  EXPECT_EQ(Guess(drafter, {9, 9, 7}, {8, 8, 0}), Ids{}) << "a forbidden prefix";
  drafter.Forget();
  EXPECT_EQ(Guess(drafter, {9, 9}, {8, 8, 0}), Ids{});
  EXPECT_FALSE(drafter.Start(std::vector<TokenId>{9}, {}).ok());
}

}  // namespace
}  // namespace hunch

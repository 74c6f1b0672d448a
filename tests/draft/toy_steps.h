// Verify steps at T = 0 on a fake target, one at a time, for drafters that look at the target's
// likeliest tokens after each row. Not thread safe.
#ifndef HUNCH_TESTS_DRAFT_TOY_STEPS_H_
#define HUNCH_TESTS_DRAFT_TOY_STEPS_H_

#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "draft/drafter.h"
#include "sampling/top_tokens.h"
#include "support/fake_target.h"

namespace hunch {

class ToySteps {
 public:
  // What became of one step.
  struct Step {
    DraftTree tree;                 // as verified
    std::vector<int32_t> path;      // accepted
    std::vector<TokenId> appended;  // the path's tokens and the target's own
  };

  ToySteps(const FakeTarget& target, std::vector<TokenId> prompt)
      : committed(std::move(prompt)), target_(target) {}

  // `change`: what the engine may do to a tree before it is verified.
  Step Run(Drafter& drafter, const ProposeLimits& limits,
           const std::function<void(DraftTree&)>& change = nullptr) {
    Step step;
    EXPECT_TRUE(drafter.Propose(committed, limits, step.tree).ok());
    EXPECT_LE(step.tree.size(), limits.max_nodes);
    if (change) change(step.tree);
    const int count = drafter.top_wanted();
    std::vector<TokenId> top;
    for (int32_t node = -1; node < step.tree.size(); ++node) {
      const std::vector<TokenId> best = Best(step.tree, node, count);
      top.insert(top.end(), best.begin(), best.end());
    }
    for (int32_t node = -1;;) {
      step.appended.push_back(Best(step.tree, node, 1).front());
      int32_t child = node + 1;
      while (child < step.tree.size() && (step.tree.parents[child] != node ||
                                          step.tree.tokens[child] != step.appended.back())) {
        ++child;
      }
      if (child == step.tree.size()) break;
      step.path.push_back(child);
      node = child;
    }
    committed.insert(committed.end(), step.appended.begin(), step.appended.end());
    drafter.Observe({step.tree, step.path, committed, top, count});
    return step;
  }

  // The target's `count` likeliest tokens after a prefix.
  std::vector<TokenId> Best(std::span<const TokenId> prefix, int count) const {
    std::vector<float> row(static_cast<size_t>(target_.vocab()));
    target_.Row(prefix, row);
    std::vector<TokenId> best(static_cast<size_t>(count));
    TopTokens({row}, count, best);
    return best;
  }

  std::vector<TokenId> committed;

 private:
  std::vector<TokenId> Best(const DraftTree& tree, int32_t node, int count) const {
    std::vector<TokenId> path;
    for (; node >= 0; node = tree.parents[node]) path.push_back(tree.tokens[node]);
    std::vector<TokenId> prefix = committed;
    prefix.insert(prefix.end(), path.rbegin(), path.rend());
    return Best(prefix, count);
  }

  const FakeTarget& target_;
};

// Parents come first, siblings differ, and no node is deeper than the limits allow.
inline void CheckTree(const DraftTree& tree, const ProposeLimits& limits) {
  ASSERT_LE(tree.size(), limits.max_nodes);
  for (int node = 0; node < tree.size(); ++node) {
    ASSERT_LT(tree.parents[node], node);
    int depth = 0;
    for (int32_t at = node; at >= 0; at = tree.parents[at]) ++depth;
    ASSERT_LE(depth, limits.max_depth);
    for (int other = 0; other < node; ++other) {
      ASSERT_FALSE(tree.parents[other] == tree.parents[node] &&
                   tree.tokens[other] == tree.tokens[node]);
    }
    ASSERT_GT(tree.probabilities[node], 0);
    ASSERT_LE(tree.probabilities[node], 1);
  }
}

inline float PathProbability(const DraftTree& tree, int32_t node) {
  float product = 1;
  for (; node >= 0; node = tree.parents[node]) product *= tree.probabilities[node];
  return product;
}

}  // namespace hunch

#endif  // HUNCH_TESTS_DRAFT_TOY_STEPS_H_

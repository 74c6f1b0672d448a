// Merging: paths of both trees survive, shared nodes are one, the order of drafters only breaks
// ties.
#include "draft/merge_trees.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hunch {
namespace {

using testing::ElementsAre;

TEST(MergeTrees, SharedNodesAreOneAndKeepTheStrongerBelief) {
  DraftTree a, b;
  a.Add(5, -1, 0.5f);
  a.Add(6, 0, 0.9f);
  b.Add(5, -1, 0.7f);
  b.Add(8, -1, 0.2f);
  b.Add(6, 0, 0.1f);
  b.Add(7, 0, 0.4f);
  DraftTree merged;
  TreeMerger merger;
  merger.Merge(a, 0, merged);
  merger.Merge(b, 1, merged);
  EXPECT_THAT(merged.tokens, ElementsAre(5, 6, 8, 7));
  EXPECT_THAT(merged.parents, ElementsAre(-1, 0, -1, 0));
  EXPECT_THAT(merged.probabilities, ElementsAre(0.7f, 0.9f, 0.2f, 0.4f));
  EXPECT_THAT(merged.sources, ElementsAre(1, 0, 1, 1));
}

TEST(MergeTrees, LawsMoveWithTheirNodes) {
  DraftTree a, b;
  a.Add(1, -1, 0.5f, 0);
  a.law_width = b.law_width = 3;
  a.law_rows = {0.1f, 0.5f, 0.4f};
  b.Add(1, -1, 0.6f, 0);
  b.Add(2, 0, 0.3f, 1);
  b.law_rows = {0.2f, 0.6f, 0.2f, 0.3f, 0.4f, 0.3f};
  DraftTree merged;
  TreeMerger merger;
  merger.Merge(a, 0, merged);
  merger.Merge(b, 1, merged);
  ASSERT_THAT(merged.tokens, ElementsAre(1, 2));
  EXPECT_THAT(merged.laws, ElementsAre(0, 2));
  EXPECT_EQ(merged.law_rows[2 * 3 + 1], 0.4f);
}

}  // namespace
}  // namespace hunch

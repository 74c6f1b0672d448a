#include "engine/count_places.h"

#include <gtest/gtest.h>

namespace hunch {
namespace {

TEST(PlaceCounter, CountsByDepthAndRank) {
  // Roots 0 and 1; 2 and 3 follow 0, 4 follows 1, 5 follows 3.
  DraftTree tree;
  for (const int32_t parent : {-1, -1, 0, 0, 1, 3}) tree.Add(tree.size(), parent, 0.5f);
  TreeCounts counts;
  PlaceCounter counter;
  counter.Count(tree, std::vector<int32_t>{0, 3, 5}, counts);
  counter.Count(tree, {}, counts);
  EXPECT_EQ(counts.verified[0], (std::array<int64_t, 4>{2, 2, 0, 0}));
  EXPECT_EQ(counts.verified[1], (std::array<int64_t, 4>{4, 2, 0, 0}));
  EXPECT_EQ(counts.verified[2], (std::array<int64_t, 4>{2, 0, 0, 0}));
  EXPECT_EQ(counts.accepted[0], (std::array<int64_t, 4>{1, 0, 0, 0}));
  EXPECT_EQ(counts.accepted[1], (std::array<int64_t, 4>{0, 1, 0, 0}));
  EXPECT_EQ(counts.accepted[2], (std::array<int64_t, 4>{1, 0, 0, 0}));
}

TEST(PlaceCounter, TheLastPlacesStandForAllBeyond) {
  DraftTree wide, deep;
  for (int i = 0; i < 10; ++i) wide.Add(i, -1, 0.1f);
  std::vector<int32_t> path;
  for (int i = 0; i < 20; ++i) {
    deep.Add(i, i - 1, 1.0f);
    path.push_back(i);
  }
  TreeCounts counts;
  PlaceCounter counter;
  counter.Count(wide, std::vector<int32_t>{9}, counts);
  counter.Count(deep, path, counts);
  EXPECT_EQ(counts.verified[0], (std::array<int64_t, 4>{2, 1, 1, 7}));
  EXPECT_EQ(counts.accepted[0], (std::array<int64_t, 4>{1, 0, 0, 1}));
  EXPECT_EQ(counts.verified[15][0], 5);
  EXPECT_EQ(counts.accepted[15][0], 5);
}

}  // namespace
}  // namespace hunch

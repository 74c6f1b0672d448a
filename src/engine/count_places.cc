#include "engine/count_places.h"

#include <algorithm>

namespace hunch {

void PlaceCounter::Count(const DraftTree& tree, std::span<const int32_t> path, TreeCounts& counts) {
  depths_.assign(tree.size(), 0);
  children_.assign(tree.size() + 1, 0);
  auto next = path.begin();
  for (int node = 0; node < tree.size(); ++node) {
    const int32_t parent = tree.parents[node];
    if (parent >= 0) depths_[node] = depths_[parent] + 1;
    const int rank = std::min(children_[parent + 1]++, TreeCounts::kRanks - 1);
    const int depth = std::min(depths_[node], TreeCounts::kDepths - 1);
    ++counts.verified[depth][rank];
    if (next != path.end() && *next == node) {
      ++counts.accepted[depth][rank];
      ++next;
    }
  }
}

}  // namespace hunch

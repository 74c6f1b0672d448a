#include "verify/trim_tree.h"

#include <algorithm>

namespace hunch {

int TreeTrimmer::Trim(int max_nodes, int max_depth, int vocab_size, DraftTree& tree) {
  const size_t given =
      std::max({tree.tokens.size(), tree.parents.size(), tree.probabilities.size()});
  const size_t whole =
      std::min({tree.tokens.size(), tree.parents.size(), tree.probabilities.size()});
  tree.sources.resize(whole, 0);
  tree.laws.resize(whole, DraftTree::kCertain);
  place_.assign(whole, -1);
  depth_.clear();
  int kept = 0;  // in place: a kept node never moves back
  for (size_t node = 0; node < whole && kept < max_nodes; ++node) {
    const TokenId token = tree.tokens[node];
    const int32_t parent = tree.parents[node];
    if (token < 0 || token >= vocab_size) continue;
    if (parent < -1 || parent >= static_cast<int32_t>(node)) continue;
    const int32_t new_parent = parent < 0 ? -1 : place_[parent];
    if (parent >= 0 && new_parent < 0) continue;
    const int new_depth = new_parent < 0 ? 1 : depth_[new_parent] + 1;
    if (new_depth > max_depth || tree.FindChild(new_parent, token, kept) >= 0) continue;
    tree.tokens[kept] = token;
    tree.parents[kept] = new_parent;
    tree.probabilities[kept] = tree.probabilities[node];
    tree.sources[kept] = tree.sources[node];
    tree.laws[kept] = tree.laws[node];
    depth_.push_back(new_depth);
    place_[node] = kept++;
  }
  tree.tokens.resize(kept);
  tree.parents.resize(kept);
  tree.probabilities.resize(kept);
  tree.sources.resize(kept);
  tree.laws.resize(kept);
  return static_cast<int>(given) - kept;
}

}  // namespace hunch

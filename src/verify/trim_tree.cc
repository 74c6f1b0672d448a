#include "verify/trim_tree.h"

#include <algorithm>
#include <vector>

namespace hunch {
namespace {

bool HasChild(const DraftTree& tree, int32_t parent, TokenId token) {
  for (int32_t node = parent + 1; node < tree.size(); ++node) {
    if (tree.parents[node] == parent && tree.tokens[node] == token) return true;
  }
  return false;
}

}  // namespace

int TrimTree(int max_nodes, int max_depth, int vocab_size, DraftTree& tree) {
  const size_t given =
      std::max({tree.tokens.size(), tree.parents.size(), tree.probabilities.size()});
  const size_t whole =
      std::min({tree.tokens.size(), tree.parents.size(), tree.probabilities.size()});
  DraftTree kept;
  std::vector<int32_t> place(whole, -1);  // of a given node in `kept`; -1: removed
  std::vector<int> depth;                 // of kept nodes; a root has 1
  for (size_t node = 0; node < whole && kept.size() < max_nodes; ++node) {
    const TokenId token = tree.tokens[node];
    const int32_t parent = tree.parents[node];
    if (token < 0 || token >= vocab_size) continue;
    if (parent < -1 || parent >= static_cast<int32_t>(node)) continue;
    const int32_t new_parent = parent < 0 ? -1 : place[parent];
    if (parent >= 0 && new_parent < 0) continue;
    const int new_depth = new_parent < 0 ? 1 : depth[new_parent] + 1;
    if (new_depth > max_depth || HasChild(kept, new_parent, token)) continue;
    place[node] = kept.Add(token, new_parent, tree.probabilities[node]);
    depth.push_back(new_depth);
  }
  tree = std::move(kept);
  return static_cast<int>(given) - tree.size();
}

}  // namespace hunch

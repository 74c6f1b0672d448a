#include "draft/growing_tree.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace hunch {

void GrowingTree::Reserve(int nodes) {
  nodes_.reserve(nodes);
  best_.reserve(nodes);
  rank_.reserve(nodes);
  place_.reserve(nodes);
}

void GrowingTree::Reset(int wanted) {
  HUNCH_CHECK_GE(wanted, 1);
  wanted_ = wanted;
  nodes_.clear();
}

int GrowingTree::Add(TokenId token, int32_t parent, float belief, int32_t law, bool open) {
  HUNCH_CHECK_LT(parent, size());
  nodes_.push_back({token, parent, law, depth(parent) + 1, belief, path(parent) * belief, open});
  return size() - 1;
}

void GrowingTree::Rank() {
  rank_.resize(nodes_.size());
  std::iota(rank_.begin(), rank_.end(), 0);
  const size_t count = std::min<size_t>(wanted_, nodes_.size());
  std::partial_sort(rank_.begin(), rank_.begin() + count, rank_.end(), [&](int32_t a, int32_t b) {
    return nodes_[a].path != nodes_[b].path ? nodes_[a].path > nodes_[b].path : a < b;
  });
  best_.assign(rank_.begin(), rank_.begin() + count);
}

void GrowingTree::TakeLeaves(int count, float least, std::vector<int32_t>& leaves) {
  leaves.clear();
  Rank();
  const bool full = size() >= wanted_;
  for (const int32_t index : best_) {
    if (static_cast<int>(leaves.size()) == count) return;
    Node& node = nodes_[index];
    // A child is at most as likely and comes later.
    if (node.path < least || (full && node.path <= nodes_[best_.back()].path)) return;
    if (!node.open) continue;
    node.open = false;
    leaves.push_back(index);
  }
}

void GrowingTree::Give(DraftTree& tree) {
  Rank();
  std::sort(best_.begin(), best_.end());
  place_.assign(nodes_.size(), -1);
  for (const int32_t index : best_) {
    const Node& node = nodes_[index];
    const int32_t parent = node.parent < 0 ? -1 : place_[node.parent];
    place_[index] = tree.Add(node.token, parent, node.belief, node.law);
  }
}

}  // namespace hunch

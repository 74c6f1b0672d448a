// BestFirst: grows a tree node by node where the path probability is highest, so that a tree of n
// nodes is the n likeliest paths of those that were put forward. A drafter pushes what may follow
// the root, then pops a node, adds it to its tree and pushes what may follow that. Of equally
// likely paths the one pushed first comes first. Not thread safe.
#ifndef HUNCH_DRAFT_BEST_FIRST_H_
#define HUNCH_DRAFT_BEST_FIRST_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "draft/drafter.h"

namespace hunch {

// What: where the drafter goes on from a node.
template <typename What>
class BestFirst {
 public:
  struct Node {
    float path_probability;
    uint32_t order;
    int32_t parent;
    TokenId token;
    float probability;  // given the parent
    int depth;          // 1 for a root of the tree
    What what;
  };

  BestFirst() { heap_.reserve(1024); }  // enough for 64 nodes with 16 children each

  void Begin(const ProposeLimits& limits) {
    limits_ = limits;
    order_ = 0;
    heap_.clear();
  }
  // A child of `parent`, or with null of the last committed token. Dropped where a limit says so.
  // `index`: the parent's in the tree.
  void Push(const Node* parent, int32_t index, TokenId token, float probability, const What& what) {
    const int depth = parent == nullptr ? 1 : parent->depth + 1;
    const float path = (parent == nullptr ? 1 : parent->path_probability) * probability;
    if (depth > limits_.max_depth || path < limits_.min_path_probability) return;
    heap_.push_back({path, order_++, index, token, probability, depth, what});
    std::push_heap(heap_.begin(), heap_.end(), Later);
  }
  // The likeliest path, which is moved into `tree`; false when none is left or the tree is full.
  bool Pop(DraftTree& tree, Node& node) {
    if (heap_.empty() || tree.size() >= limits_.max_nodes) return false;
    std::pop_heap(heap_.begin(), heap_.end(), Later);
    node = heap_.back();
    heap_.pop_back();
    tree.Add(node.token, node.parent, node.probability);
    return true;
  }

 private:
  static bool Later(const Node& a, const Node& b) {
    if (a.path_probability != b.path_probability) return a.path_probability < b.path_probability;
    return a.order > b.order;
  }

  ProposeLimits limits_{};
  uint32_t order_ = 0;
  std::vector<Node> heap_;
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_BEST_FIRST_H_

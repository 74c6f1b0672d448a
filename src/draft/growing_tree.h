// GrowingTree: a draft tree while a drafter is at work on it. It grows where the probability to
// reach a node is highest (EAGLE-2's expansion, arXiv 2406.16858), and in the end gives its best
// nodes.
//
// Order: path probability descending, then the order of adding. A node comes before all that hangs
// below it, so the best nodes are a tree. Which nodes stand before a node does not depend on
// anything that is below it: what was drawn for it decides nothing about whether it is given
// (accept_ratio.h), as long as beliefs do not depend on the node's own token. Not thread safe.
#ifndef HUNCH_DRAFT_GROWING_TREE_H_
#define HUNCH_DRAFT_GROWING_TREE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "seq/types.h"

namespace hunch {

class GrowingTree {
 public:
  struct Node {
    TokenId token;
    int32_t parent;  // -1: a root
    int32_t law;
    int32_t depth;  // a root has 1
    float belief;   // given the parent, in [0, 1]
    float path;     // product of the beliefs on the way
    bool open;      // whether children may be looked for
  };

  // So that a tree of `nodes` allocates nothing.
  void Reserve(int nodes);
  // An empty tree that is to give its best `wanted` nodes.
  void Reset(int wanted);
  int Add(TokenId token, int32_t parent, float belief, int32_t law, bool open);

  int size() const { return static_cast<int>(nodes_.size()); }
  const Node& node(int i) const { return nodes_[i]; }
  float path(int32_t node) const { return node < 0 ? 1.0f : nodes_[node].path; }
  int depth(int32_t node) const { return node < 0 ? 0 : nodes_[node].depth; }

  // The best open nodes, at most `count`, whose children could still be among the wanted nodes and
  // reach `least`. They are closed.
  void TakeLeaves(int count, float least, std::vector<int32_t>& leaves);
  // Adds the wanted nodes to `tree`, which has none.
  void Give(DraftTree& tree);

 private:
  void Rank();

  int wanted_ = 0;
  std::vector<Node> nodes_;
  std::vector<int32_t> best_;   // scratch: the wanted nodes, best first
  std::vector<int32_t> rank_;   // scratch
  std::vector<int32_t> place_;  // scratch
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_GROWING_TREE_H_

#include "verify/mark_forbidden.h"

#include <algorithm>

namespace hunch {

// Takes the constraint from path_ to `node`. False: it gave up on the way, for its nodes were
// allowed.
bool ForbiddenMarker::GoTo(int32_t node, const DraftTree& tree, ConstraintCursor& constraint) {
  line_.clear();
  for (int32_t at = node; at >= 0; at = tree.parents[at]) line_.push_back(at);
  std::reverse(line_.begin(), line_.end());
  const size_t shorter = std::min(line_.size(), path_.size());
  size_t shared = 0;
  while (shared < shorter && line_[shared] == path_[shared]) ++shared;
  constraint.Pop(path_.size() - shared);
  path_.resize(shared);
  for (size_t i = shared; i < line_.size(); ++i) {
    if (!constraint.Push(tree.tokens[line_[i]])) return false;
    path_.push_back(line_[i]);
  }
  return true;
}

bool ForbiddenMarker::Mark(std::span<const TokenId> committed, ConstraintCursor& constraint,
                           DraftTree& tree) {
  bool alive = constraint.MoveTo(committed);
  path_.clear();
  dead_.assign(tree.tokens.size(), false);
  bool any = false;
  for (int32_t node = 0; node < tree.size(); ++node) {
    const int32_t parent = tree.parents[node];
    const bool below_dead = parent >= 0 && dead_[parent];
    if (!below_dead) alive = alive && GoTo(parent, tree, constraint);
    if (alive && !below_dead && constraint.Push(tree.tokens[node])) {
      path_.push_back(node);
      continue;
    }
    dead_[node] = true;
    if (alive && !below_dead && tree.laws[node] != DraftTree::kCertain) continue;
    tree.tokens[node] = kForbidden;
    any = true;
  }
  constraint.Pop(path_.size());
  return any;
}

}  // namespace hunch

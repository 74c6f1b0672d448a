// Guesses that a constraint forbids cannot be accepted: they are marked before a verify pass spends
// rows on them, and TreeTrimmer removes what is marked. The result depends on the arguments alone.
// Not thread safe (scratch).
#ifndef HUNCH_VERIFY_MARK_FORBIDDEN_H_
#define HUNCH_VERIFY_MARK_FORBIDDEN_H_

#include <span>
#include <vector>

#include "sampling/constraint_cursor.h"
#include "seq/types.h"

namespace hunch {

class ForbiddenMarker {
 public:
  static constexpr TokenId kForbidden = -1;

  // Gives kForbidden to every node of a trimmed tree that cannot be accepted. A node that was drawn
  // from a law keeps its token, since to leave it out for that would bend the law that it is judged
  // by (accept_ratio.h); what hangs below it goes. Returns whether any was marked.
  bool Mark(std::span<const TokenId> committed, ConstraintCursor& constraint, DraftTree& tree);

 private:
  bool GoTo(int32_t node, const DraftTree& tree, ConstraintCursor& constraint);

  std::vector<int32_t> path_;  // the nodes that the constraint has taken after `committed`
  std::vector<int32_t> line_;  // scratch of GoTo
  std::vector<bool> dead_;     // [nodes]: nothing below it can be accepted
};

}  // namespace hunch

#endif  // HUNCH_VERIFY_MARK_FORBIDDEN_H_

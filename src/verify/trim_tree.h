// A drafter's tree is untrusted: before a verify pass spends rows on it, it is cut to what can be
// verified. The result depends on the arguments alone. Not thread safe (scratch).
#ifndef HUNCH_VERIFY_TRIM_TREE_H_
#define HUNCH_VERIFY_TRIM_TREE_H_

#include <vector>

#include "seq/types.h"

namespace hunch {

class TreeTrimmer {
 public:
  // Removes, with all that hangs below them: nodes deeper than max_depth, tokens outside [0,
  // vocab_size), nodes whose parent does not come before them, and siblings that repeat a token;
  // then what is beyond the first max_nodes. Tokens, parents and probabilities of unequal length
  // are cut to the shortest; what is missing of the other arrays is filled in.
  // Afterwards the invariants of DraftTree hold. Returns how many nodes went.
  int Trim(int max_nodes, int max_depth, int vocab_size, DraftTree& tree);

 private:
  std::vector<int32_t> place_;  // [given nodes]: where it was kept; -1: removed
  std::vector<int> depth_;      // [kept nodes]; a root has 1
};

}  // namespace hunch

#endif  // HUNCH_VERIFY_TRIM_TREE_H_

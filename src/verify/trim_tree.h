// A drafter's tree is untrusted: before a verify pass spends rows on it, it is cut to what can be
// verified. Pure; thread safe.
#ifndef HUNCH_VERIFY_TRIM_TREE_H_
#define HUNCH_VERIFY_TRIM_TREE_H_

#include "seq/types.h"

namespace hunch {

// Removes, with all that hangs below them: nodes deeper than max_depth, tokens outside [0,
// vocab_size), nodes whose parent does not come before them, and siblings that repeat a token; then
// what is beyond the first max_nodes. Arrays of unequal length are cut to the shortest. Afterwards
// the invariants of DraftTree hold. Returns how many nodes went.
int TrimTree(int max_nodes, int max_depth, int vocab_size, DraftTree& tree);

}  // namespace hunch

#endif  // HUNCH_VERIFY_TRIM_TREE_H_

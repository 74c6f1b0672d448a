// Merges the trees of several drafters into one. Not thread safe (scratch).
#ifndef HUNCH_DRAFT_MERGE_TREES_H_
#define HUNCH_DRAFT_MERGE_TREES_H_

#include <vector>

#include "seq/types.h"

namespace hunch {

class TreeMerger {
 public:
  // Adds the nodes of `from`, guesses of drafter `source`, to `into`. A node that is there already
  // (same parent, same token) keeps its law, and the larger of the two beliefs with its source.
  // Both trees keep DraftTree's invariants.
  void Merge(const DraftTree& from, uint8_t source, DraftTree& into);

 private:
  std::vector<int32_t> place_;  // [from]: where the node is in `into`
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_MERGE_TREES_H_

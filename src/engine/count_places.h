// Counts the guesses of verified trees by their place, for reports. Not thread safe (scratch). A
// count allocates nothing once trees have had their size.
#ifndef HUNCH_ENGINE_COUNT_PLACES_H_
#define HUNCH_ENGINE_COUNT_PLACES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "seq/types.h"

namespace hunch {

class PlaceCounter {
 public:
  // path: the accepted nodes of the tree, from a root down.
  void Count(const DraftTree& tree, std::span<const int32_t> path, TreeCounts& counts);

 private:
  std::vector<int> depths_;    // [nodes]
  std::vector<int> children_;  // [1 + nodes]: met so far; first those of the forest
};

}  // namespace hunch

#endif  // HUNCH_ENGINE_COUNT_PLACES_H_

#include "draft/merge_trees.h"

#include "base/check.h"

namespace hunch {

void TreeMerger::Merge(const DraftTree& from, uint8_t source, DraftTree& into) {
  const int there = into.size();  // siblings within `from` differ already
  int32_t first_law = 0;
  if (!from.law_rows.empty()) {
    HUNCH_CHECK(into.law_rows.empty() || into.law_width == from.law_width);
    into.law_width = from.law_width;
    first_law = static_cast<int32_t>(into.law_rows.size() / into.law_width);
    into.law_rows.insert(into.law_rows.end(), from.law_rows.begin(), from.law_rows.end());
  }
  place_.clear();
  for (int node = 0; node < from.size(); ++node) {
    const int32_t parent = from.parents[node] < 0 ? -1 : place_[from.parents[node]];
    int32_t same = into.FindChild(parent, from.tokens[node], there);
    if (same < 0) {
      const int32_t law = from.laws[node];
      same = into.Add(from.tokens[node], parent, from.probabilities[node],
                      law == DraftTree::kCertain ? law : first_law + law, source);
    } else if (into.probabilities[same] < from.probabilities[node]) {
      into.probabilities[same] = from.probabilities[node];
      into.sources[same] = source;
    }
    place_.push_back(same);
  }
}

}  // namespace hunch

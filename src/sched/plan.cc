#include "sched/plan.h"

#include <algorithm>

namespace hunch {

void PlanStep(std::span<const SequenceSnapshot> sequences, const StepLimits& limits,
              std::vector<StepShare>& plan) {
  plan.clear();
  int rows_left = limits.max_rows;
  int logits_left = limits.max_logit_rows;
  const auto add = [&](int index, int rows, int nodes, int depth) {
    const bool logits = sequences[index].in_kv + rows == sequences[index].tokens;
    plan.push_back({index, rows, logits, nodes, depth});
    rows_left -= rows + nodes;
    logits_left -= logits ? 1 + nodes : 0;
  };
  const int count = static_cast<int>(sequences.size());
  const auto decoding = [&](int i) { return sequences[i].tokens - sequences[i].in_kv == 1; };
  int decoding_left = static_cast<int>(
      std::count_if(sequences.begin(), sequences.end(),
                    [](const SequenceSnapshot& s) { return s.tokens - s.in_kv == 1; }));
  for (int i = 0; i < count && rows_left > 0 && logits_left > 0; ++i) {
    if (!decoding(i)) continue;
    --decoding_left;
    // Everyone behind keeps a row of its own; the guesses take what is then free.
    const int free_rows = std::min(rows_left, logits_left) - 1 - decoding_left;
    // The target adds one token of its own to whatever is accepted.
    const int depth = sequences[i].tokens_left - 1;
    const int nodes = std::clamp(std::min(sequences[i].draft_limit, free_rows), 0,
                                 depth > 0 ? sequences[i].draft_limit : 0);
    add(i, 1, nodes, depth);
  }
  for (int i = 0; i < count && rows_left > 0; ++i) {
    if (decoding(i)) continue;
    const int unread = sequences[i].tokens - sequences[i].in_kv;
    int rows = std::min(unread, rows_left);
    if (rows == unread && logits_left == 0) --rows;
    if (rows > 0) add(i, rows, 0, 0);
  }
}

}  // namespace hunch

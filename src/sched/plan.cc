#include "sched/plan.h"

#include <algorithm>

namespace hunch {
namespace {

bool IsDecoding(const SequenceSnapshot& sequence) { return sequence.tokens - sequence.in_kv == 1; }

// Guesses that it could use. The target adds one token of its own to whatever is accepted.
int WantedNodes(const SequenceSnapshot& sequence) {
  return IsDecoding(sequence) && sequence.tokens_left > 1 ? sequence.draft_limit : 0;
}

// How many guesses each sequence may have at most, so that `free` rows are shared fairly: what some
// do not want goes to the others. The first `extra` of those who want more get one more.
struct FairShare {
  int most = 0;
  int extra = 0;
};
FairShare ShareRows(std::span<const SequenceSnapshot> sequences, int free) {
  FairShare share;
  while (true) {
    const int wanting = static_cast<int>(
        std::count_if(sequences.begin(), sequences.end(),
                      [&](const SequenceSnapshot& s) { return WantedNodes(s) > share.most; }));
    if (wanting == 0) return share;
    if (wanting > free) {
      share.extra = std::max(free, 0);
      return share;
    }
    free -= wanting;
    ++share.most;
  }
}

}  // namespace

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
  // Everyone has a row of its own; the guesses take what is then free.
  const int decoding =
      static_cast<int>(std::count_if(sequences.begin(), sequences.end(), IsDecoding));
  FairShare share = ShareRows(sequences, std::min(rows_left, logits_left) - decoding);
  for (int i = 0; i < count && rows_left > 0 && logits_left > 0; ++i) {
    if (!IsDecoding(sequences[i])) continue;
    const int wanted = WantedNodes(sequences[i]);
    const bool one_more = wanted > share.most && share.extra-- > 0;
    add(i, 1, std::min(wanted, share.most) + one_more, sequences[i].tokens_left - 1);
  }
  for (int i = 0; i < count && rows_left > 0; ++i) {
    if (IsDecoding(sequences[i])) continue;
    const int unread = sequences[i].tokens - sequences[i].in_kv;
    int rows = std::min(unread, rows_left);
    if (rows == unread && logits_left == 0) --rows;
    if (rows > 0) add(i, rows, 0, 0);
  }
}

}  // namespace hunch

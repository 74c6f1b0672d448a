#include "sched/admission.h"

#include <algorithm>

namespace hunch {

int Admit(std::span<const KvNeed> sequences, int free_blocks, int max_running) {
  const int most = std::min(static_cast<int>(sequences.size()), max_running);
  for (int i = 0; i < most; ++i) {
    const KvNeed& need = sequences[i];
    const int missing = std::max(need.blocks_wanted - need.blocks_held, 0);
    if (i > 0 && need.blocks_held == 0 && missing > free_blocks) return i;
    free_blocks -= missing;
  }
  return most;
}

}  // namespace hunch

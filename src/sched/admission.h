// Which sequences run, when the KV cache is too small for all. Pure.
#ifndef HUNCH_SCHED_ADMISSION_H_
#define HUNCH_SCHED_ADMISSION_H_

#include <span>

namespace hunch {

struct KvNeed {
  int blocks_held;
  int blocks_wanted;  // for its committed tokens and the next one
};

// How many of the sequences, from the first in order of arrival, run: at most max_running, and the
// first that holds nothing and does not fit beside what those before it still want ends the row, so
// that nobody is overtaken. The first always runs.
int Admit(std::span<const KvNeed> sequences, int free_blocks, int max_running);

}  // namespace hunch

#endif  // HUNCH_SCHED_ADMISSION_H_

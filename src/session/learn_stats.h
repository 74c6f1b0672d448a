// LearnStats: what learning while serving (learner.h) has done, for /metrics and /v1/speculation. A
// value.
#ifndef HUNCH_SESSION_LEARN_STATS_H_
#define HUNCH_SESSION_LEARN_STATS_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace hunch {

enum class LearnPhase {
  kGathers,   // text, until there is enough of it
  kTrains,    // in another process
  kCompares,  // what came of it with the head in use
  kOnTrial,   // the new head is in use
  kDoubts,    // it looks worse in service, and is compared with the one before
  kPaused,    // somebody chose another head by hand
};
std::string_view LearnPhaseName(LearnPhase phase);

struct LearnStats {
  LearnPhase phase = LearnPhase::kGathers;
  std::string head;  // the file of the one that it put into use last
  int64_t rows = 0, rows_dropped = 0;
  int64_t texts = 0, held_out = 0;  // held_out: of them, never learned from
  int64_t answer_tokens = 0;        // of all texts
  uint64_t segment_bytes = 0;
  int64_t rounds = 0, failed_rounds = 0;
  int64_t comparisons = 0, swaps = 0, rollbacks = 0;
  // Tokens per pass in the last comparison; 0: there was none. On trial, of the head before and of
  // the one in use.
  double replayed_before = 0, replayed_after = 0;
};

}  // namespace hunch

#endif  // HUNCH_SESSION_LEARN_STATS_H_

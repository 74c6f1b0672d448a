// Recorded acceptance: what each drafter guessed at every position of a real text, and how much of
// it came true. Recorded by bench/engine/record_trace.cc; a file (tests/golden/traces) reads
//
//   hunch acceptance trace 1
//   temperature 0
//   drafters ngram draft_model
//   answer specbench-81 prompt 53
//   2/900*3,550 8/998,812*7           one line a position, one chain of guesses a drafter
//
// A chain is "how many are right / beliefs in thousandths, n equal ones as *n". Tokens are not
// kept: a guess is right or wrong, and two wrong ones are taken for different.
#ifndef HUNCH_TESTS_SUPPORT_ACCEPTANCE_TRACE_H_
#define HUNCH_TESTS_SUPPORT_ACCEPTANCE_TRACE_H_

#include <string>
#include <vector>

#include "base/result.h"

namespace hunch {

struct TraceChain {
  int right = 0;
  std::vector<float> beliefs;  // one per guess
};

struct TracePosition {
  std::vector<TraceChain> chains;  // [drafters]
  int tokens_left = 0;             // of its answer, this one included
};

struct AcceptanceTrace {
  std::string name;
  float temperature = 0;
  std::vector<std::string> drafters;
  std::vector<TracePosition> positions;
};

// Errors name the file and the line.
Result<AcceptanceTrace> ReadTrace(const std::string& path, const std::string& name);
// The first `count` positions of one text, then those of another: the kind changes half-way.
AcceptanceTrace Joined(const AcceptanceTrace& first, const AcceptanceTrace& then, int count);
// The same beliefs, but nothing comes true.
AcceptanceTrace AllWrong(AcceptanceTrace trace);
AcceptanceTrace OnlyDrafter(AcceptanceTrace trace, int drafter);

// The traces of a folder, in order of their names; then some that change their kind half-way, and
// some of which nothing comes true.
Result<std::vector<AcceptanceTrace>> ReadTexts(const std::string& folder);

}  // namespace hunch

#endif  // HUNCH_TESTS_SUPPORT_ACCEPTANCE_TRACE_H_

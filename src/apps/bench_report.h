// How `hunch bench` shows its results: a table for people, an object for programs. Pure functions.
#ifndef HUNCH_APPS_BENCH_REPORT_H_
#define HUNCH_APPS_BENCH_REPORT_H_

#include <string>
#include <vector>

#include "apps/bench_plan.h"
#include "session/json_text.h"

namespace hunch {

// A subset of the prompts, with its name.
struct BenchSection {
  std::string category;  // "": all
  bool Has(const BenchResults& results, size_t prompt) const;
};
// By first appearance. After an interrupt these two leave out what was not answered.
std::vector<BenchSection> Categories(const BenchResults& results);
size_t PromptCount(const BenchResults& results, const BenchSection& section);
MethodSummary SummaryOf(const BenchResults& results, size_t method, const BenchSection& section);
// Whether every answer was that of `none`.
bool Identical(const BenchResults& results, size_t method, const BenchSection& section);

std::string BenchTable(const BenchResults& results);
Json BenchJson(const BenchResults& results, const Flags& flags);
// "specbench-81, ngram, round 2: token 17 is 345 instead of 12"
std::string MismatchLine(const BenchResults& results, const Mismatch& mismatch);

}  // namespace hunch

#endif  // HUNCH_APPS_BENCH_REPORT_H_

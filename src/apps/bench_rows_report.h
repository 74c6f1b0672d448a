// How `hunch bench rows` shows its results: a table and a plot for people, JSON for programs. Pure
// functions.
#ifndef HUNCH_APPS_BENCH_ROWS_REPORT_H_
#define HUNCH_APPS_BENCH_ROWS_REPORT_H_

#include <string>

#include "session/json_text.h"
#include "session/row_bench.h"

namespace hunch {

// The measured and where: `isa` and `cpu` as base/isa.h names them.
struct RowBenchView {
  RowBenchReport report;
  std::string cpu, isa, model;
};

std::string RowsTable(const RowBenchView& view);

// {cpu, isa, threads, model, context, read_gb_s, dot_gmac_s, decode_tokens_per_second,
//  rows: [{m, ms, percent_of_limit}], prompt: [{tokens, tokens_per_second}]};
// an array of these for several contexts.
Json RowsJson(const RowBenchView& view);

// An SVG of T(M), one line a context, with its limit dashed; both axes logarithmic.
std::string RowsSvg(const RowBenchView& view);

}  // namespace hunch

#endif  // HUNCH_APPS_BENCH_ROWS_REPORT_H_

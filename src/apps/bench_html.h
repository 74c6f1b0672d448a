// The page of `hunch bench --report`: speed per category, acceptance by position and by place in
// the tree, what passes cost, and whether the text was the same. Pure functions.
#ifndef HUNCH_APPS_BENCH_HTML_H_
#define HUNCH_APPS_BENCH_HTML_H_

#include <string>

#include "apps/bench_html_plots.h"
#include "apps/bench_plan.h"

namespace hunch {

std::string BenchHtml(const BenchResults& results, const Flags& flags);

// What a pass of 1 to 64 rows takes, as a plot and a table.
std::string PassTimesHtml(const std::vector<PassTime>& times);

// The number of a method in all plots; plain decoding is grey.
int MethodColour(size_t method);

// "82.1 %", or "-" when there is no such share.
std::string ShareText(double numerator, double denominator);

}  // namespace hunch

#endif  // HUNCH_APPS_BENCH_HTML_H_

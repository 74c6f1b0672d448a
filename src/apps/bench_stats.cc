#include "apps/bench_stats.h"

#include <algorithm>
#include <map>

namespace hunch {
namespace {

struct RoundSums {
  double wall = 0, baseline_wall = 0, decode = 0;
  int64_t tokens_after_first = 0;
};

}  // namespace

std::optional<Difference> CompareOutputs(const RequestOutput& expected, const RequestOutput& got) {
  const auto& a = expected.token_ids;
  const auto& b = got.token_ids;
  const auto [at_a, at_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  Difference difference;
  difference.position = static_cast<size_t>(at_a - a.begin());
  if (at_a != a.end()) difference.expected = *at_a;
  if (at_b != b.end()) difference.got = *at_b;
  if (difference.expected || difference.got) return difference;
  if (expected.text == got.text && expected.finish_reason == got.finish_reason) {
    return std::nullopt;
  }
  difference.text_only = true;
  return difference;
}

Spread SpreadOf(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back()};
}

MethodSummary Summarise(const std::vector<BenchGroup>& groups, size_t method,
                        const std::function<bool(size_t prompt)>& wanted) {
  MethodSummary summary;
  std::map<int, RoundSums> rounds;
  std::vector<double> ttft;
  double wall = 0;
  for (const BenchGroup& group : groups) {
    if (!wanted(group.prompt)) continue;
    const BenchSample& sample = group.samples[method];
    RoundSums& sums = rounds[group.round];
    sums.wall += sample.wall_seconds;
    sums.baseline_wall += group.samples[0].wall_seconds;
    if (sample.tokens > 1) {
      sums.decode += sample.decode_seconds;
      sums.tokens_after_first += sample.tokens - 1;
    }
    ttft.push_back(sample.prefill_seconds * 1e3);
    wall += sample.wall_seconds;
    summary.total.Add(sample.speculation);
    ++summary.answers;
  }
  std::vector<double> rates, speedups;
  for (const auto& [round, sums] : rounds) {
    if (sums.decode > 0) {
      rates.push_back(static_cast<double>(sums.tokens_after_first) / sums.decode);
    }
    if (sums.wall > 0) speedups.push_back(sums.baseline_wall / sums.wall);
  }
  summary.tokens_per_second = SpreadOf(std::move(rates));
  summary.speedup = SpreadOf(std::move(speedups));
  summary.ttft_ms = SpreadOf(std::move(ttft)).median;
  summary.draft_share = wall > 0 ? summary.total.draft_seconds / wall : 0;
  return summary;
}

}  // namespace hunch

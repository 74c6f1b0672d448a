#include "sched/cost_curve.h"

#include <algorithm>

#include "base/check.h"

namespace hunch {

std::vector<PassTime> MedianTimes(std::vector<PassTime> samples) {
  std::sort(samples.begin(), samples.end(), [](const PassTime& a, const PassTime& b) {
    return a.rows != b.rows ? a.rows < b.rows : a.seconds < b.seconds;
  });
  std::vector<PassTime> medians;
  for (size_t begin = 0, end = 0; begin < samples.size(); begin = end) {
    while (end < samples.size() && samples[end].rows == samples[begin].rows) ++end;
    const double low = samples[begin + (end - begin - 1) / 2].seconds;
    const double high = samples[begin + (end - begin) / 2].seconds;
    medians.push_back({samples[begin].rows, (low + high) / 2});
  }
  return medians;
}

CostCurve::CostCurve(std::span<const PassTime> times) : points_(times.begin(), times.end()) {
  HUNCH_CHECK(!times.empty());
  // Pool adjacent violators: runs of points that share their mean.
  struct Pooled {
    double sum;
    int count;
    double mean() const { return sum / count; }
  };
  std::vector<Pooled> pools;
  for (size_t i = 0; i < times.size(); ++i) {
    HUNCH_CHECK_GE(times[i].rows, i == 0 ? 1 : times[i - 1].rows + 1);
    pools.push_back({times[i].seconds, 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
      const Pooled last = pools.back();
      pools.pop_back();
      pools.back().sum += last.sum;
      pools.back().count += last.count;
    }
  }
  auto point = points_.begin();
  for (const Pooled& pool : pools) {
    for (int i = 0; i < pool.count; ++i) (point++)->seconds = pool.mean();
  }
}

double CostCurve::Seconds(int rows) const {
  const auto above = std::lower_bound(points_.begin(), points_.end(), rows,
                                      [](const PassTime& p, int r) { return p.rows < r; });
  if (above == points_.end()) return points_.back().seconds * rows / points_.back().rows;
  if (above == points_.begin() || above->rows == rows) return above->seconds;
  const PassTime& below = above[-1];
  const double share = static_cast<double>(rows - below.rows) / (above->rows - below.rows);
  return below.seconds + share * (above->seconds - below.seconds);
}

}  // namespace hunch

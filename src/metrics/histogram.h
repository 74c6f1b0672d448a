// Histogram: how often values fell under each of some fixed bounds, as Prometheus counts them. Not
// thread safe; copied to be read elsewhere.
#ifndef HUNCH_METRICS_HISTOGRAM_H_
#define HUNCH_METRICS_HISTOGRAM_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace hunch {

class Histogram {
 public:
  static constexpr size_t kMostBounds = 24;

  // Ascending, kMostBounds at most; they must outlive the histogram.
  explicit Histogram(std::span<const double> bounds) : bounds_(bounds) {}

  void Observe(double value) {
    const auto at = std::lower_bound(bounds_.begin(), bounds_.end(), value);
    ++counts_[static_cast<size_t>(at - bounds_.begin())];
    sum_ += value;
  }

  std::span<const double> bounds() const { return bounds_; }
  // Of values at most bounds()[i] and above the bound before; i = bounds().size(): of all larger.
  uint64_t count(size_t i) const { return counts_[i]; }
  double sum() const { return sum_; }

 private:
  std::span<const double> bounds_;
  std::array<uint64_t, kMostBounds + 1> counts_ = {};
  double sum_ = 0;
};

}  // namespace hunch

#endif  // HUNCH_METRICS_HISTOGRAM_H_

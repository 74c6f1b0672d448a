#include "sched/pass_cost.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace hunch {
namespace {

constexpr double kRate = 0.1;       // of the way to what a pass took
constexpr double kStaleRate = 0.5;  // the same for a level that is stale
constexpr double kFollow = 0.5;     // of a move, for the levels that were not seen lately
constexpr int kLately = 8;          // passes
constexpr int kLongAgo = 64;
constexpr int kScalePasses = 8;
constexpr double kFar = 0.03;          // moved by hearsay
constexpr double kLargestError = 0.3;  // in log seconds: what lies further off is a hiccup

}  // namespace

PassCost::PassCost(const CostCurve& measured) {
  const int rows = measured.points().back().rows;
  for (int r = 1; r <= rows; ++r) log_levels_.push_back(std::log(measured.Seconds(r)));
  seconds_.resize(rows);
  hearsay_.assign(rows, 0);
  last_seen_.assign(rows, 0);
  pools_.reserve(rows);
  Fit();
}

size_t PassCost::Index(int rows) const {
  HUNCH_CHECK_GE(rows, 1);
  return std::min(static_cast<size_t>(rows), seconds_.size()) - 1;
}

double PassCost::Seconds(int rows) const {
  const size_t index = Index(rows);
  return seconds_[index] * rows / std::min<double>(rows, static_cast<double>(index + 1));
}

void PassCost::Observe(int rows, double seconds) {
  if (!(seconds > 0) || !std::isfinite(seconds)) return;
  const size_t own = Index(rows);
  const double at_own_rows = seconds * static_cast<double>(own + 1) / rows;
  const double off = std::log(at_own_rows) - log_levels_[own];
  const double error = std::clamp(off, -kLargestError, kLargestError);
  const bool stale = Stale(rows);
  ++passes_;
  if (passes_ <= kScalePasses) {
    // At first the ratios are known, by the kind of CPU, and not the seconds: all levels move.
    const double move = off / static_cast<double>(passes_);
    for (double& level : log_levels_) level += move;
    if (passes_ > 1) {
      for (double& hearsay : hearsay_) hearsay += move;
    }
  } else {
    log_levels_[own] += (stale ? kStaleRate : kRate) * error;
    for (size_t other = 0; other < log_levels_.size(); ++other) {
      if (other == own || passes_ - last_seen_[other] <= kLately) continue;
      log_levels_[other] += kFollow * kRate * error;
      hearsay_[other] += kFollow * kRate * error;
    }
  }
  // One pass does not put right what was far off.
  if (!stale || std::abs(off) < kLargestError) {
    hearsay_[own] = 0;
    last_seen_[own] = passes_;
  }
  Fit();
}

bool PassCost::Stale(int rows) const {
  const size_t index = Index(rows);
  return last_seen_[index] == 0 || passes_ - last_seen_[index] >= kLongAgo ||
         std::abs(hearsay_[index]) > kFar;
}

// Pool adjacent violators, as CostCurve does, in memory that is there already. What was seen lately
// weighs more.
void PassCost::Fit() {
  pools_.clear();
  for (size_t i = 0; i < log_levels_.size(); ++i) {
    const double weight = 1.0 / static_cast<double>(1 + passes_ - last_seen_[i]);
    pools_.push_back({std::exp(log_levels_[i]) * weight, weight, 1});
    while (pools_.size() > 1) {
      Pool& below = pools_[pools_.size() - 2];
      const Pool& last = pools_.back();
      if (below.sum * last.weight <= last.sum * below.weight) break;
      below = {below.sum + last.sum, below.weight + last.weight, below.count + last.count};
      pools_.pop_back();
    }
  }
  auto out = seconds_.begin();
  for (const Pool& pool : pools_) out = std::fill_n(out, pool.count, pool.sum / pool.weight);
}

}  // namespace hunch

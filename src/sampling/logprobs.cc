#include "sampling/logprobs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/ops.h"

namespace hunch {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

void Logprobs::Fill(const float* row, int n, int count, TokenChoice& choice) {
  MaxSum stats = SoftmaxStats(row, n);
  if (!std::isfinite(stats.max) || !std::isfinite(stats.sum)) {
    // NaN never wins, and plus infinity beats all that is finite.
    const bool unbounded = std::find(row, row + n, kInfinity) != row + n;
    finite_.resize(n);
    std::transform(row, row + n, finite_.begin(), [unbounded](float x) {
      if (unbounded) return x == kInfinity ? 0.0f : -kInfinity;
      return std::isnan(x) ? -kInfinity : x;
    });
    row = finite_.data();
    stats = SoftmaxStats(row, n);
  }
  const float log_sum = Log(stats.sum);
  const auto logprob = [&](TokenId token) {
    return row[token] > -kInfinity ? (row[token] - stats.max) - log_sum : -kInfinity;
  };
  choice.logprob = logprob(choice.token);
  choice.top.clear();
  if (count <= 0) return;
  relative_.Reset(row, n, 1.0f);
  if (relative_.empty()) return;
  best_.SelectBest(relative_, std::min(count, n));
  for (int i = 0; i < best_.size(); ++i) choice.top.push_back({best_.id(i), logprob(best_.id(i))});
  // Stable: candidates come in ascending id.
  std::stable_sort(
      choice.top.begin(), choice.top.end(),
      [](const TokenLogprob& a, const TokenLogprob& b) { return a.logprob > b.logprob; });
}

}  // namespace hunch

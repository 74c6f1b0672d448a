#include "sampling/relative_row.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace hunch {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The largest of x[n], n <= kBlock; NaN counts as minus infinity. Sixteen lanes because one chain
// of comparisons would cost its latency per token.
float BlockMax(const float* x, int n) {
  constexpr int kLanes = 16;
  float lanes[kLanes];
  std::fill_n(lanes, kLanes, -kInfinity);
  int i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int j = 0; j < kLanes; ++j) lanes[j] = x[i + j] > lanes[j] ? x[i + j] : lanes[j];
  }
  float max = -kInfinity;
  for (; i < n; ++i) max = x[i] > max ? x[i] : max;
  for (const float lane : lanes) max = lane > max ? lane : max;
  return max;
}

}  // namespace

void RelativeRow::Reset(const float* x, int n, float temperature) {
  x_ = x;
  size_ = n;
  temperature_ = temperature;
  maxima_.resize((n + kBlock - 1) / kBlock);
  max_ = -kInfinity;
  for (int block = 0; block < blocks(); ++block) {
    maxima_[block] = BlockMax(x + block * kBlock, block_size(block));
    if (maxima_[block] > max_) {
      max_ = maxima_[block];
      best_block_ = block;
    }
  }
  if (max_ == kInfinity) ReplaceInfinities();
}

// A logit of plus infinity leaves only the tokens that have it, all alike.
void RelativeRow::ReplaceInfinities() {
  const auto replaced = [](float x) { return x == kInfinity ? 0.0f : -kInfinity; };
  finite_.resize(size_);
  std::transform(x_, x_ + size_, finite_.begin(), replaced);
  std::transform(maxima_.begin(), maxima_.end(), maxima_.begin(), replaced);
  x_ = finite_.data();
  max_ = 0;
}

bool RelativeRow::empty() const { return max_ == -kInfinity; }

float RelativeRow::FloorOfBest(int count) {
  sorted_ = maxima_;
  // Each of the `count` best blocks has a token that reaches the least of their maxima.
  std::nth_element(sorted_.begin(), sorted_.begin() + (count - 1), sorted_.end(), std::greater<>());
  return Scale(sorted_[count - 1]);
}

}  // namespace hunch

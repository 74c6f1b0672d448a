#include "sampling/relative_row.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "kernels/ops.h"

namespace hunch {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

void RelativeRow::Reset(const float* x, int n, float temperature, const float* maxima) {
  x_ = x;
  size_ = n;
  temperature_ = temperature;
  maxima_.resize(LogitBlocks(n));
  if (maxima == nullptr) {
    BlockMaxima(x, n, maxima_.data());
  } else {
    std::copy_n(maxima, maxima_.size(), maxima_.begin());
    // The last block may reach into the longer row.
    const int last = (blocks() - 1) * kBlock;
    BlockMaxima(x + last, n - last, &maxima_.back());
  }
  best_block_ = static_cast<int>(ArgMax(maxima_.data(), blocks()));
  max_ = maxima_[best_block_];
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

#include "sampling/relative_row.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include "kernels/ops.h"

namespace hunch {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Above, of the first n <= 64.
uint64_t AboveOf(const float* x, int n, float bound) {
  if (n == kLogitBlock) return Above(x, bound);
  float padded[kLogitBlock];
  std::fill(std::copy_n(x, n, padded), padded + kLogitBlock, -kInfinity);
  return Above(padded, bound);
}

// Calls use(i) for every set bit, ascending.
template <typename Use>
void ForEachBit(uint64_t bits, const Use& use) {
  for (; bits != 0; bits &= bits - 1) use(std::countr_zero(bits));
}

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

// The largest number whose z does not reach the floor, so that a token needs no division to be left
// out: by bisection over the bits, in the order of the numbers.
float RelativeRow::LargestBelow(float floor) const {
  constexpr int32_t kFirst = std::numeric_limits<int32_t>::min();
  // Its own inverse: negative numbers' bits ascend as they fall.
  const auto flip = [](int32_t bits) { return bits >= 0 ? bits : kFirst - bits; };
  const auto number = [&](int64_t order) {
    return std::bit_cast<float>(flip(static_cast<int32_t>(order)));
  };
  int64_t below = flip(std::bit_cast<int32_t>(-kInfinity));
  int64_t reaching = flip(std::bit_cast<int32_t>(max_));
  while (reaching - below > 1) {
    const int64_t middle = (below + reaching) >> 1;
    (Scale(number(middle)) >= floor ? reaching : below) = middle;
  }
  return number(below);
}

void RelativeRow::Gather(float floor, std::vector<int32_t>& ids, std::vector<float>& z) const {
  ids.clear();
  z.clear();
  if (empty()) return;
  const float below = LargestBelow(floor);
  for (int first = 0; first < blocks(); first += kBlock) {
    const int n = std::min(blocks() - first, kBlock);
    ForEachBit(AboveOf(maxima_.data() + first, n, below), [&](int i) {
      const int block = first + i;
      ForEachBit(AboveOf(x_ + block * kBlock, block_size(block), below), [&](int j) {
        ids.push_back(block * kBlock + j);
        z.push_back(x_[block * kBlock + j]);
      });
    });
  }
  for (float& logit : z) logit = Scale(logit);
}

float RelativeRow::FloorOfBest(int count) {
  sorted_ = maxima_;
  // Each of the `count` best blocks has a token that reaches the least of their maxima.
  std::nth_element(sorted_.begin(), sorted_.begin() + (count - 1), sorted_.end(), std::greater<>());
  return Scale(sorted_[count - 1]);
}

}  // namespace hunch

// A processed logits row seen from its best token: z = (logit - largest logit) / T, so that the
// best token has z = 0 at every T, a tiny T cannot overflow, and what a token lacks to the best is
// held at full precision.
//
// (x - m) / T is monotone in x, rounding included. So the largest logit of a block bounds every z
// of the block, and whole blocks are left out by one comparison. NaN is below everything. Not
// thread safe.
#ifndef HUNCH_SAMPLING_RELATIVE_ROW_H_
#define HUNCH_SAMPLING_RELATIVE_ROW_H_

#include <cstdint>
#include <vector>

#include "kernels/row_ops.h"

namespace hunch {

class RelativeRow {
 public:
  static constexpr int kBlock = kLogitBlock;

  // x[n] must outlive the use of this view. `maxima`: what BlockMaxima gives for the row, or for a
  // longer row that begins with x; null: not known.
  void Reset(const float* x, int n, float temperature, const float* maxima = nullptr);

  // Whether no token has a logit above minus infinity.
  bool empty() const;
  int size() const { return size_; }
  int blocks() const { return static_cast<int>(maxima_.size()); }
  int block_size(int block) const {
    const int rest = size_ - block * kBlock;
    return rest < kBlock ? rest : kBlock;
  }
  // At most 0; minus infinity or NaN for tokens that cannot be chosen.
  float z(int token) const { return Scale(x_[token]); }
  // out[n]: z of the tokens from `first` on.
  void Copy(int first, int n, float* out) const {
    const float* x = x_ + first;
    const float max = max_, temperature = temperature_;
    for (int i = 0; i < n; ++i) out[i] = (x[i] - max) / temperature;
  }
  // The tokens that have z >= floor (at most 0), ascending, and their z.
  void Gather(float floor, std::vector<int32_t>& ids, std::vector<float>& z) const;
  // No token of the block has a larger z.
  float block_z(int block) const { return Scale(maxima_[block]); }
  // The block that holds the best token.
  int best_block() const { return best_block_; }
  // z of a value that at least `count` tokens reach (count in 1..blocks()).
  float FloorOfBest(int count);
  // Sum of Mass(z) over all tokens (candidates.h).
  MassBounds mass_bounds() const {
    return BoundMass(x_, size_, maxima_.data(), max_, temperature_);
  }
  uint64_t mass() const { return MassSum(x_, size_, maxima_.data(), max_, temperature_); }

 private:
  float Scale(float x) const { return (x - max_) / temperature_; }
  float LargestBelow(float floor) const;
  void ReplaceInfinities();

  const float* x_ = nullptr;  // [size_]
  int size_ = 0;
  float temperature_ = 1;
  float max_ = 0;
  int best_block_ = 0;
  std::vector<float> maxima_;  // [blocks]
  std::vector<float> sorted_;  // [blocks], scratch
  std::vector<float> finite_;  // [size_], only for a row with a logit of plus infinity
};

}  // namespace hunch

#endif  // HUNCH_SAMPLING_RELATIVE_ROW_H_

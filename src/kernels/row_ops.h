// What the choice of a token needs of a logits row, on the active instruction set. All of it works
// on blocks of 64 tokens: the largest logit of a block bounds every token of it, so most blocks are
// judged by one number, which the forward pass leaves while the logits are in the cache.
// Pure; thread safe.
#ifndef HUNCH_KERNELS_ROW_OPS_H_
#define HUNCH_KERNELS_ROW_OPS_H_

#include <cstdint>

#include "base/isa.h"

namespace hunch {

inline constexpr int kLogitBlock = 64;  // 2376 blocks for 152k tokens; 16 Philox counters each
constexpr int64_t LogitBlocks(int64_t tokens) { return (tokens + kLogitBlock - 1) / kLogitBlock; }

// maxima[LogitBlocks(n)]: the largest of each 64 of x[n], NaN skipped; -inf where nothing is left.
void BlockMaxima(const float* x, int64_t n, float* maxima);

// Bit i: x[i] > bound, of x[64].
uint64_t Above(const float* x, float bound);

// Sum of floor(exp(z) * 2^40) over z = (x - max) / temperature, exact; z that is NaN has no mass.
// No z is above 0. `maxima` as BlockMaxima gives them.
uint64_t MassSum(const float* x, int64_t n, const float* maxima, float max, float temperature);
// exp(-27.75) * 2^40 < 1: no token below this has mass.
inline constexpr float kLeastWithMass = -27.75f;

// The same sum within 1.6 %, at a fifth of its cost, for decisions that can do without more.
struct MassBounds {
  uint64_t least, most;
};
MassBounds BoundMass(const float* x, int64_t n, const float* maxima, float max, float temperature);

// The noise of GumbelRow for the 64 tokens from `first` (a multiple of 64), but only where one of
// their Philox words, rounded to fp32, is at most `most_word` (a small word is a large noise); else
// false, and nothing is written. The two logarithms are half the cost of noise.
bool GumbelBlock(uint64_t seed, uint32_t choice, uint64_t position, int64_t first, float most_word,
                 float* out);

// The kernels of a stated instruction set, for tests.
struct RowOps {
  void (*block_maxima)(const float*, int64_t, float*);
  uint64_t (*above)(const float*, float);
  uint64_t (*mass_sum)(const float*, int64_t, const float*, float, float);
  double (*mass_estimate)(const float*, int64_t, const float*, float, float);
  bool (*gumbel_block)(uint64_t, uint32_t, uint64_t, int64_t, float, float*);
};
// Null when this build has none for `isa`.
const RowOps* RowOpsFor(Isa isa);

}  // namespace hunch

#endif  // HUNCH_KERNELS_ROW_OPS_H_

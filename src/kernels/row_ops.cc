#include "kernels/row_ops.h"

#include <algorithm>
#include <limits>

#include "kernels/ops_tables.h"
#include "kernels/self_check.h"

namespace hunch {
namespace {

const RowOps& Active() { return CheckedKernels().kernels.row_ops; }

}  // namespace

const RowOps* RowOpsFor(Isa isa) {
  switch (isa) {
    case Isa::kRef:
      return &kRowOpsRef;
#if defined(__x86_64__)
    case Isa::kAvx2:
      return &kRowOpsAvx2;
    case Isa::kAvx512:
      return &kRowOpsAvx512;
#elif defined(__aarch64__)
    case Isa::kNeon:
      return &kRowOpsNeon;
#endif
    default:
      return nullptr;
  }
}

void BlockMaxima(const float* x, int64_t n, float* maxima) { Active().block_maxima(x, n, maxima); }
uint64_t Above(const float* x, float bound) { return Active().above(x, bound); }
uint64_t MassSum(const float* x, int64_t n, const float* maxima, float max, float temperature) {
  return Active().mass_sum(x, n, maxima, max, temperature);
}
// The estimate's terms are 2.0606 to 2.0918 exp(z) (row_ops_inl.h); fp32 adds less than 2^-13 of
// it.
MassBounds BoundMass(const float* x, int64_t n, const float* maxima, float max, float temperature) {
  if (!(temperature > 1e-20f)) return {0, std::numeric_limits<uint64_t>::max()};  // slopes overflow
  const double units = Active().mass_estimate(x, n, maxima, max, temperature) * 0x1p40;
  const double slack = 2 * static_cast<double>(n);  // mass is counted in whole units, rounded down
  const double least = units * (1 - 0x1p-13) / 2.09178 - slack;
  const double most = units * (1 + 0x1p-13) / 2.06065 + slack;
  return {static_cast<uint64_t>(std::max(least, 0.0)), static_cast<uint64_t>(most)};
}
bool GumbelBlock(uint64_t seed, uint32_t choice, uint64_t position, int64_t first, float most_word,
                 float* out) {
  return Active().gumbel_block(seed, choice, position, first, most_word, out);
}

}  // namespace hunch

#include "kernels/row_ops.h"

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
uint64_t MassSum(const float* x, int64_t n, const float* maxima, float max, float temperature) {
  return Active().mass_sum(x, n, maxima, max, temperature);
}
bool GumbelBlock(uint64_t seed, uint32_t choice, uint64_t position, int64_t first, float most_word,
                 float* out) {
  return Active().gumbel_block(seed, choice, position, first, most_word, out);
}

}  // namespace hunch

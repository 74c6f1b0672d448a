#include "kernels/matmul.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "base/isa.h"
#include "kernels/matmul_kernels.h"
#include "kernels/pack_layout.h"
#include "kernels/self_check.h"

namespace hunch {
namespace {

// Decoding waits for memory. Intel's cores read two streams faster than one (a Xeon with AMX: 27.1
// tokens/s instead of 24.5 on the 1.5B), AMD's read one faster (Zen 5: 78 instead of 62 GB/s).
bool FewRowsInPairs() {
  static const bool pairs = IsIntelCpu();
  return pairs;
}

void RunMatMul(void (*mat_mul)(const MatMulArgs&), const PackedMatrix& w, const ActRows& x,
               float* y, int64_t ldy, int64_t group_begin, int64_t group_end, bool pairs) {
  HUNCH_CHECK(0 <= group_begin && group_begin <= group_end && group_end <= w.groups())
      << group_begin << ".." << group_end << " of " << w.groups();
  HUNCH_CHECK_EQ(x.k, w.columns());
  if (group_begin == group_end || x.m == 0) return;
  const PackLayout layout = PackLayoutOf(w.type());
  const int64_t group_bytes = w.columns() / layout.chunk_weights * layout.chunk_bytes;
  const int64_t rows_end = std::min(group_end * kGroupRows, w.rows());
  mat_mul({.type = w.type(),
           .weights = w.data() + group_begin * group_bytes,
           .group_bytes = group_bytes,
           .groups = group_end - group_begin,
           .k = x.k,
           .m = x.m,
           .f32 = x.f32,
           .q = x.q,
           .scale = x.scale,
           .sum = x.sum,
           .y = y + group_begin * kGroupRows,
           .ldy = ldy,
           .last_rows = static_cast<int>(rows_end - (group_end - 1) * kGroupRows),
           .few_rows_in_pairs = pairs});
}

}  // namespace

void MatMul(const PackedMatrix& w, const ActRows& x, float* y, int64_t ldy, int64_t group_begin,
            int64_t group_end) {
  const KernelSet& kernels = CheckedKernels().kernels;
  const bool trusted = (kernels.scalar_types >> static_cast<int>(w.type()) & 1) == 0;
  RunMatMul(trusted ? kernels.matmul.mat_mul : MatMulKernelsRef().mat_mul, w, x, y, ldy,
            group_begin, group_end, FewRowsInPairs());
}

std::string_view MatMulIsaName() { return CheckedKernels().kernels.matmul.isa; }

void MatMulOn(Isa isa, const PackedMatrix& w, const ActRows& x, float* y, int64_t ldy,
              int64_t group_begin, int64_t group_end, std::optional<bool> pairs) {
  RunMatMul(KernelsOf(isa).matmul.mat_mul, w, x, y, ldy, group_begin, group_end,
            pairs.value_or(FewRowsInPairs()));
}

void QuantizeRow(const float* x, int64_t k, int8_t* q, float* scale, int16_t* sum) {
  CheckedKernels().kernels.matmul.quantize_row(x, k, q, scale, sum);
}

void QuantizeRowOn(Isa isa, const float* x, int64_t k, int8_t* q, float* scale, int16_t* sum) {
  KernelsOf(isa).matmul.quantize_row(x, k, q, scale, sum);
}

}  // namespace hunch

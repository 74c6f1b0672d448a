#include "kernels/matmul.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/matmul_kernels.h"
#include "kernels/pack_layout.h"

namespace hunch {
namespace {

const MatMulKernels& KernelsFor(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAvx2:
      return MatMulKernelsAvx2();
    case Isa::kAvx512:
      return MatMulKernelsAvx512();
#elif defined(__aarch64__)
    case Isa::kNeon:
      return MatMulKernelsNeon();
#endif
    default:
      return MatMulKernelsRef();
  }
}

const MatMulKernels& ActiveKernels() {
  static const MatMulKernels& active = KernelsFor(ActiveIsa());
  return active;
}

void RunMatMul(const MatMulKernels& kernels, const PackedMatrix& w, const ActRows& x, float* y,
               int64_t ldy, int64_t group_begin, int64_t group_end) {
  HUNCH_CHECK(0 <= group_begin && group_begin <= group_end && group_end <= w.groups())
      << group_begin << ".." << group_end << " of " << w.groups();
  HUNCH_CHECK_EQ(x.k, w.columns());
  if (group_begin == group_end || x.m == 0) return;
  const PackLayout layout = PackLayoutOf(w.type());
  const int64_t group_bytes = w.columns() / layout.chunk_weights * layout.chunk_bytes;
  const int64_t rows_end = std::min(group_end * kGroupRows, w.rows());
  kernels.mat_mul({.type = w.type(),
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
                   .last_rows = static_cast<int>(rows_end - (group_end - 1) * kGroupRows)});
}

}  // namespace

void MatMul(const PackedMatrix& w, const ActRows& x, float* y, int64_t ldy, int64_t group_begin,
            int64_t group_end) {
  RunMatMul(ActiveKernels(), w, x, y, ldy, group_begin, group_end);
}

std::string_view MatMulIsaName() { return ActiveKernels().isa; }

void MatMulOn(Isa isa, const PackedMatrix& w, const ActRows& x, float* y, int64_t ldy,
              int64_t group_begin, int64_t group_end) {
  RunMatMul(KernelsFor(isa), w, x, y, ldy, group_begin, group_end);
}

void QuantizeRow(const float* x, int64_t k, int8_t* q, float* scale, int16_t* sum) {
  ActiveKernels().quantize_row(x, k, q, scale, sum);
}

void QuantizeRowOn(Isa isa, const float* x, int64_t k, int8_t* q, float* scale, int16_t* sum) {
  KernelsFor(isa).quantize_row(x, k, q, scale, sum);
}

}  // namespace hunch

// What one instruction set gives to matmul.h: a table of two functions. Plain data only, because
// the ISA files include it and must not instantiate library code.
#ifndef HUNCH_KERNELS_MATMUL_KERNELS_H_
#define HUNCH_KERNELS_MATMUL_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "quant/types.h"

namespace hunch {

// One call of MatMul: groups [0, groups) at `weights`, rows [0, m) of activations.
struct MatMulArgs {
  TensorType type;
  const std::byte* weights;  // [groups][group_bytes], laid out as in pack_layout.h
  int64_t group_bytes;
  int64_t groups;
  int64_t k;
  int m;
  const float* f32;    // [m][k], F32, F16 and BF16 weights
  const int8_t* q;     // [m][k], the others
  const float* scale;  // [m][k/32]
  const int16_t* sum;  // [m][k/16]
  float* y;            // [m][ldy]: column 0 is the first row of the first group
  int64_t ldy;
  int last_rows;           // rows of the last group that exist, 1..16
  bool few_rows_in_pairs;  // two groups side by side at any number of rows; changes speed only
};

struct MatMulKernels {
  const char* isa;  // as IsaName spells it
  void (*mat_mul)(const MatMulArgs&);
  void (*quantize_row)(const float* x, int64_t k, int8_t* q, float* scale, int16_t* sum);
};

const MatMulKernels& MatMulKernelsRef();
#if defined(__x86_64__)
const MatMulKernels& MatMulKernelsAvx2();
const MatMulKernels& MatMulKernelsAvx512();
#elif defined(__aarch64__)
const MatMulKernels& MatMulKernelsNeon();
#endif

}  // namespace hunch

#endif  // HUNCH_KERNELS_MATMUL_KERNELS_H_

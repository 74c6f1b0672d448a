// The start-up check: sound kernels pass, and each kernel that is broken here on purpose is found,
// named and replaced, alone.
#include "kernels/self_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/ops_tables.h"

namespace hunch {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Found(KernelSet& kernels) {
  std::vector<std::string> distrusted;
  Distrust(KernelsOf(Isa::kRef), kernels, distrusted);
  return distrusted;
}

TEST(SelfCheckTest, EveryInstructionSetPasses) {
  for (Isa isa : SupportedIsas()) {
    KernelSet kernels = KernelsOf(isa);
    EXPECT_THAT(Found(kernels), IsEmpty()) << IsaName(isa);
    EXPECT_EQ(kernels.scalar_types, 0u);
  }
  EXPECT_THAT(CheckedKernels().distrusted, IsEmpty());
}

// The reference with one bit wrong: in a late row, an early one, the last lane.
void WrongMatMul(const MatMulArgs& args) {
  MatMulKernelsRef().mat_mul(args);
  if (args.type == TensorType::kQ6_K && args.m == 5) args.y[4 * args.ldy + 40] += 1.0f;
  if (args.type == TensorType::kBF16) args.y[0] = -args.y[0];
}

TEST(SelfCheckTest, AWrongMatMulLosesItsTypeOnly) {
  KernelSet kernels = KernelsOf(Isa::kRef);
  kernels.matmul.mat_mul = WrongMatMul;
  EXPECT_THAT(Found(kernels), ElementsAre("mat_mul Q6_K", "mat_mul BF16"));
  EXPECT_EQ(kernels.scalar_types, 1u << 30 | 1u << 14);
}

TEST(SelfCheckTest, AWrongQuantizeRowIsReplaced) {
  KernelSet kernels = KernelsOf(Isa::kRef);
  const auto truth = kernels.matmul.quantize_row;
  kernels.matmul.quantize_row = [](const float* x, int64_t k, int8_t* q, float* scale,
                                   int16_t* sum) {
    MatMulKernelsRef().quantize_row(x, k, q, scale, sum);
    ++sum[1];
  };
  EXPECT_THAT(Found(kernels), ElementsAre("quantize_row"));
  EXPECT_EQ(kernels.matmul.quantize_row, truth);
}

TEST(SelfCheckTest, AWrongOpIsReplaced) {
  KernelSet kernels = KernelsOf(Isa::kRef);
  kernels.ops.rms_norm = [](const float* x, const float* w, float eps, int n, float* y) {
    kOpsRef.rms_norm(x, w, eps, n, y);
    y[n - 1] = std::nextafter(y[n - 1], 9.0f);
  };
  kernels.ops.exp_row = [](const float* x, int64_t n, float* y) { kOpsRef.exp_row(x, n - 1, y); };
  kernels.ops.attention_merge = [](const AttentionArgs& args, int head, int begin, int end,
                                   float* partials) {
    kOpsRef.attention_merge(args, head, begin, end - 1, partials);
    args.out[args.heads * args.layer.head_dim] += 1;
  };
  kernels.row_ops.mass_sum = [](const float* x, int64_t n, const float* maxima, float max,
                                float t) { return kRowOpsRef.mass_sum(x, n, maxima, max, t) + 1; };
  EXPECT_THAT(Found(kernels), ElementsAre("rms_norm", "exp_row", "attention", "mass_sum"));
  EXPECT_EQ(kernels.ops.rms_norm, kOpsRef.rms_norm);
  EXPECT_EQ(kernels.ops.exp_row, kOpsRef.exp_row);
  EXPECT_EQ(kernels.ops.attention_merge, kOpsRef.attention_merge);
  EXPECT_EQ(kernels.row_ops.mass_sum, kRowOpsRef.mass_sum);
}

}  // namespace
}  // namespace hunch

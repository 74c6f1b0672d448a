// The scalar truth of docs/numerics.md for linear layers, for any machine.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/matmul_kernels.h"
#include "kernels/pack.h"
#include "kernels/pack_layout.h"
#include "quant/quant.h"

namespace hunch {
namespace {

constexpr int kRows = 16;

int32_t Dot(const int8_t* codes, const int8_t* q, int n) {
  int32_t dot = 0;
  for (int i = 0; i < n; ++i) dot += codes[i] * q[i];
  return dot;
}

// Folds one chunk of one weight row into row m's accumulator.
float FoldChunk(const BlockCodes& w, const MatMulArgs& args, int64_t m, int64_t k, float acc) {
  const int8_t* q = args.q + m * args.k + k;
  const int16_t* sum = args.sum + (m * args.k + k) / 16;
  const float* scale = args.scale + (m * args.k + k) / 32;
  const int n = w.group_elements;
  for (int g = 0; g < w.elements / n; ++g) {
    const float a = scale[g * n / 32];
    acc = std::fma(static_cast<float>(Dot(w.codes + g * n, q + g * n, n)), w.scale[g] * a, acc);
    if (w.has_offset) {
      const int group_sum = n == 32 ? sum[2 * g] + sum[2 * g + 1] : sum[g];
      acc = std::fma(w.offset[g], static_cast<float>(group_sum) * a, acc);
    }
  }
  return acc;
}

void QuantisedOutput(const MatMulArgs& args, const std::byte* group, int row, float* y) {
  const PackLayout layout = PackLayoutOf(args.type);
  for (int m = 0; m < args.m; ++m) y[m * args.ldy] = 0;
  BlockCodes w;
  for (int64_t k = 0; k < args.k; k += layout.chunk_weights, group += layout.chunk_bytes) {
    UnpackChunk(args.type, group, row, &w);
    for (int m = 0; m < args.m; ++m) y[m * args.ldy] = FoldChunk(w, args, m, k, y[m * args.ldy]);
  }
}

float PlainWeight(TensorType type, const std::byte* group, int64_t index) {
  if (type == TensorType::kF32) {
    float value;
    std::memcpy(&value, group + 4 * index, sizeof(value));
    return value;
  }
  uint16_t half;
  std::memcpy(&half, group + 2 * index, sizeof(half));
  return type == TensorType::kF16 ? F16ToF32(half) : Bf16ToF32(half);
}

void PlainOutput(const MatMulArgs& args, const std::byte* group, int row, float* y) {
  for (int m = 0; m < args.m; ++m) y[m * args.ldy] = 0;
  for (int64_t k = 0; k < args.k; ++k) {
    const float w = PlainWeight(args.type, group, kRows * k + row);
    for (int m = 0; m < args.m; ++m) {
      y[m * args.ldy] = std::fma(w, args.f32[m * args.k + k], y[m * args.ldy]);
    }
  }
}

void MatMulRef(const MatMulArgs& args) {
  const bool plain = PackLayoutOf(args.type).scales == ScaleKind::kNone;
  for (int64_t g = 0; g < args.groups; ++g) {
    const std::byte* group = args.weights + g * args.group_bytes;
    const int rows = g + 1 == args.groups ? args.last_rows : kRows;
    for (int row = 0; row < rows; ++row) {
      float* y = args.y + g * kRows + row;
      if (plain)
        PlainOutput(args, group, row, y);
      else
        QuantisedOutput(args, group, row, y);
    }
  }
}

void QuantizeRowRef(const float* x, int64_t k, int8_t* q, float* scale, int16_t* sum) {
  for (int64_t block = 0; block < k / 32; ++block, x += 32, q += 32) {
    // Magnitudes compare as integers; a NaN is above every number and so reaches the scale.
    uint32_t magnitude = 0;
    for (int i = 0; i < 32; ++i) {
      magnitude = std::max(magnitude, std::bit_cast<uint32_t>(x[i]) & 0x7FFFFFFF);
    }
    const auto amax = std::bit_cast<float>(magnitude);
    scale[block] = amax / 127;
    const float inverse = amax == 0 ? 0 : 127 / amax;
    int sums[2] = {0, 0};
    for (int i = 0; i < 32; ++i) {
      const float scaled = x[i] * inverse;
      q[i] = std::isnan(scaled)
                 ? int8_t{0}
                 : static_cast<int8_t>(std::nearbyint(std::clamp(scaled, -127.0f, 127.0f)));
      sums[i / 16] += q[i];
    }
    sum[2 * block] = static_cast<int16_t>(sums[0]);
    sum[2 * block + 1] = static_cast<int16_t>(sums[1]);
  }
}

}  // namespace

const MatMulKernels& MatMulKernelsRef() {
  static constexpr MatMulKernels kernels = {"ref", MatMulRef, QuantizeRowRef};
  return kernels;
}

}  // namespace hunch

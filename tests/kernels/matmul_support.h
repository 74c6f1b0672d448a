// Weights, activations and comparisons for the linear layer tests.
#ifndef HUNCH_TESTS_KERNELS_MATMUL_SUPPORT_H_
#define HUNCH_TESTS_KERNELS_MATMUL_SUPPORT_H_

#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernels/matmul.h"
#include "quant/quant.h"

namespace hunch {

inline const std::vector<TensorType>& AllTypes() {
  static const std::vector<TensorType> types = {
      TensorType::kF32,    TensorType::kF16,  TensorType::kBF16, TensorType::kQ4_0,
      TensorType::kQ4_1,   TensorType::kQ5_0, TensorType::kQ5_1, TensorType::kQ8_0,
      TensorType::kIQ4_NL, TensorType::kQ2_K, TensorType::kQ3_K, TensorType::kQ4_K,
      TensorType::kQ5_K,   TensorType::kQ6_K};
  return types;
}

inline std::string TypeName(TensorType type) { return std::string(GetTypeTraits(type).name); }

// Byte offsets of the f16 fields in one block of the file.
inline std::vector<size_t> HalfFields(TensorType type) {
  switch (type) {
    case TensorType::kQ4_1:
    case TensorType::kQ5_1:
    case TensorType::kQ4_K:
    case TensorType::kQ5_K:
      return {0, 2};
    case TensorType::kQ2_K:
      return {80, 82};
    case TensorType::kQ3_K:
      return {108};
    case TensorType::kQ6_K:
      return {208};
    default:
      return {0};
  }
}

inline void StoreF16(std::byte* to, float value) {
  const uint16_t half = F32ToF16(value);
  std::memcpy(to, &half, sizeof(half));
}

// Every code is random (or `code_byte` throughout, if that is not negative), scales are near 0.01.
inline std::vector<std::byte> RandomWeights(TensorType type, int64_t rows, int64_t columns,
                                            uint32_t seed, int code_byte = -1) {
  const TypeTraits& traits = GetTypeTraits(type);
  std::vector<std::byte> bytes(BytesOf(type, rows * columns));
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.01f);
  const auto block_bytes = static_cast<size_t>(traits.block_bytes);
  for (size_t at = 0; at < bytes.size(); at += block_bytes) {
    if (traits.block_elements == 1) {
      const float value = normal(random);
      if (type == TensorType::kF32) {
        std::memcpy(&bytes[at], &value, 4);
      } else {
        const uint16_t half = type == TensorType::kF16 ? F32ToF16(value) : F32ToBf16(value);
        std::memcpy(&bytes[at], &half, 2);
      }
      continue;
    }
    for (size_t i = 0; i < block_bytes; ++i) {
      bytes[at + i] = static_cast<std::byte>(code_byte >= 0 ? code_byte : random() & 255);
    }
    for (size_t field : HalfFields(type)) StoreF16(&bytes[at + field], normal(random));
  }
  return bytes;
}

inline PackedMatrix PackOrDie(TensorType type, int64_t rows, int64_t columns,
                              const std::vector<std::byte>& bytes) {
  ThreadPool pool(1);
  auto packed = PackedMatrix::Pack(type, rows, columns, bytes, pool);
  HUNCH_CHECK(packed.ok()) << packed.error().message;
  return std::move(packed).value();
}

// Activations that own their storage. 64-byte alignment is part of the ActRows contract.
class TestActs {
 public:
  TestActs(int m, int64_t k, uint32_t seed) : m_(m), k_(k) {
    const auto count = static_cast<size_t>(m * k);
    f32_ = Make(4 * count + 64);
    q_ = Make(count + 64);
    scale_ = Make(count / 8 + 64);
    sum_ = Make(count / 8 + 64);
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, 1);
    for (size_t i = 0; i < count; ++i) f32()[i] = normal(random);
    Quantise();
  }
  void Quantise() {
    if (k_ % 32 != 0) return;
    for (int64_t row = 0; row < m_; ++row) {
      QuantizeRowOn(Isa::kRef, f32() + row * k_, k_, q() + row * k_, scale() + row * k_ / 32,
                    sum() + row * k_ / 16);
    }
  }
  float* f32() { return f32_.as<float>(); }
  int8_t* q() { return q_.as<int8_t>(); }
  float* scale() { return scale_.as<float>(); }
  int16_t* sum() { return sum_.as<int16_t>(); }
  // Rows [first, first + count).
  ActRows Rows(int first, int count) {
    return {.m = count,
            .k = k_,
            .f32 = f32() + first * k_,
            .q = q() + first * k_,
            .scale = scale() + first * k_ / 32,
            .sum = sum() + first * k_ / 16};
  }
  ActRows All() { return Rows(0, m_); }

 private:
  static AlignedBuffer Make(size_t bytes) { return AlignedBuffer::Create(bytes).value(); }
  int m_;
  int64_t k_;
  AlignedBuffer f32_, q_, scale_, sum_;
};

// [m][n] outputs on one instruction set, over groups [begin, end); what is not written stays -1.
inline std::vector<float> Multiply(Isa isa, const PackedMatrix& w, const ActRows& x,
                                   int64_t begin = 0, int64_t end = -1,
                                   std::optional<bool> pairs = {}) {
  std::vector<float> y(static_cast<size_t>(x.m * w.rows()), -1.0f);
  MatMulOn(isa, w, x, y.data(), w.rows(), begin, end < 0 ? w.groups() : end, pairs);
  return y;
}

// Equal bits, where any NaN equals any other.
inline bool SameBits(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

}  // namespace hunch

#endif  // HUNCH_TESTS_KERNELS_MATMUL_SUPPORT_H_

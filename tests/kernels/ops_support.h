// Shared by the tests of src/kernels/ops*: random rows with awkward values, exact comparison.
#ifndef HUNCH_TESTS_KERNELS_OPS_SUPPORT_H_
#define HUNCH_TESTS_KERNELS_OPS_SUPPORT_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/isa.h"
#include "kernels/ops.h"
#include "quant/quant.h"

namespace hunch {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Every instruction set of this machine other than the reference.
inline std::vector<Isa> VectorIsas() {
  std::vector<Isa> isas;
  for (Isa isa : SupportedIsas()) {
    if (isa != Isa::kRef && OpsFor(isa) != nullptr) isas.push_back(isa);
  }
  return isas;
}

inline std::vector<float> RandomRow(std::mt19937& random, int64_t n, float spread = 1.0f) {
  std::normal_distribution<float> normal(0.0f, spread);
  std::vector<float> row(n);
  for (float& x : row) x = normal(random);
  return row;
}

// As RandomRow, with about one element in `every` replaced by a subnormal, a huge value, a zero of
// either sign, an infinity or NaN.
inline std::vector<float> AwkwardRow(std::mt19937& random, int64_t n, int every) {
  static constexpr float kAwkward[] = {0.0f,   -0.0f,  1e-42f, -3e-40f, 3e38f,
                                       -3e38f, 1e-38f, kInf,   -kInf,   kNan};
  std::vector<float> row = RandomRow(random, n, 4.0f);
  for (float& x : row) {
    if (random() % every == 0) x = kAwkward[random() % std::size(kAwkward)];
  }
  return row;
}

inline bool SameBits(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

// Equal bits; a NaN equals any NaN (the contract fixes no payload).
inline ::testing::AssertionResult SameRow(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return ::testing::AssertionFailure() << "sizes differ";
  for (size_t i = 0; i < a.size(); ++i) {
    if (!SameBits(a[i], b[i])) {
      return ::testing::AssertionFailure()
             << "element " << i << " of " << a.size() << ": " << a[i] << " and " << b[i];
    }
  }
  return ::testing::AssertionSuccess();
}

inline constexpr KvType kKvTypes[] = {KvType::kF16, KvType::kF32, KvType::kQ8_0};

// What docs/numerics.md says about the cache, element by element. What it holds of a row: elements,
// and a scale per head (1 where the type has none).
struct KvRow {
  std::vector<float> element;
  std::vector<float> scale;
  float Value(size_t i) const { return element[i] * scale[i / (element.size() / scale.size())]; }
};
inline std::vector<float> RotatedHeads(std::vector<float> row, int heads) {
  const size_t dim = row.size() / heads, part = dim & (~dim + 1);
  for (size_t begin = 0; begin < row.size(); begin += part) {
    for (size_t stage = 2; stage <= part; stage *= 2) {
      const std::vector<float> x(row.begin() + begin, row.begin() + begin + part);
      for (size_t i = 0; i < part / 2; ++i) {
        row[begin + i] = x[2 * i] + x[2 * i + 1];
        row[begin + i + part / 2] = x[2 * i] - x[2 * i + 1];
      }
    }
  }
  return row;
}
inline KvRow RoundedToKv(KvType type, const std::vector<float>& row, int heads) {
  KvRow held = {row, std::vector<float>(heads, 1.0f)};
  if (type == KvType::kF16) {
    for (float& x : held.element) x = F16ToF32(F32ToF16(x));
  }
  if (type != KvType::kQ8_0) return held;
  const size_t dim = row.size() / heads;
  for (int h = 0; h < heads; ++h) {
    const std::span<float> x = std::span(held.element).subspan(h * dim, dim);
    float amax = 0;
    for (float v : x) amax = std::fmax(amax, std::fabs(v));
    for (float v : x) amax = std::isnan(v) ? v : amax;
    held.scale[h] = amax / 127;
    const float inverse = amax == 0 ? 0 : 127 / amax;
    for (float& v : x) {
      const float scaled = v * inverse;
      v = std::isnan(scaled) ? 0 : std::nearbyint(std::fmin(std::fmax(scaled, -127), 127)) + 0.0f;
    }
  }
  return held;
}

// Keys are rotated first where they are int8, and so is the query that meets them.
inline KvRow KeysRoundedToKv(KvType type, const std::vector<float>& row, int heads) {
  return RoundedToKv(type, type == KvType::kQ8_0 ? RotatedHeads(row, heads) : row, heads);
}
inline std::vector<float> QueryForKv(KvType type, const std::vector<float>& q, int heads) {
  if (type != KvType::kQ8_0) return q;
  std::vector<float> rotated = RotatedHeads(q, heads);
  const size_t dim = q.size() / heads;
  for (float& x : rotated) x *= 1.0f / static_cast<float>(dim & (~dim + 1));
  return rotated;
}

// |got - want| in units of the last place of fp32 at `want`.
inline double UlpError(float got, double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e9;
  if (std::fabs(want) >= std::ldexp(2.0 - std::ldexp(1.0, -24), 127)) {  // rounds to infinity
    return std::isinf(got) && std::signbit(got) == std::signbit(want) ? 0 : 1e9;
  }
  if (!std::isfinite(got)) return 1e9;
  const int exponent = want == 0 ? -126 : std::max(std::ilogb(want), -126);
  return std::fabs(got - want) / std::ldexp(1.0, exponent - 23);
}

}  // namespace hunch

#endif  // HUNCH_TESTS_KERNELS_OPS_SUPPORT_H_

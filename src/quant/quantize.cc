// Quantize: for tests and for tensors that Hunch itself exports. Each block's codes are the nearest
// to value / d with the fp32 d, before d is rounded to f16 (as file tools do; the bits need not be
// theirs).
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "quant/blocks.h"
#include "quant/quant.h"

namespace hunch {
namespace {

// The reciprocal that codes are computed with; 0 for a block of zeros (and for a d so small that
// its reciprocal is not finite, where the f16 scale is 0 as well).
float Inverse(float d) {
  const float inverse = 1.0f / d;
  return std::isfinite(inverse) ? inverse : 0.0f;
}

int NearestCode(float scaled, int low, int high) {
  // Clamped as a float first: converting a NaN or a huge value to int is undefined.
  if (!(scaled > static_cast<float>(low))) return low;
  if (!(scaled < static_cast<float>(high))) return high;
  return static_cast<int>(std::lrintf(scaled));
}

// The value of largest magnitude, with its sign: it gets the lowest code, the one without a
// positive counterpart.
float ExtremeOf(std::span<const float> x) {
  float extreme = 0;
  for (float value : x) {
    if (std::fabs(value) > std::fabs(extreme)) extreme = value;
  }
  return extreme;
}

// codes[i] in [0, 2 * half), value ~ d * (code - half). Returns d.
float SymmetricCodes(std::span<const float> x, int half, uint8_t* codes) {
  const float d = ExtremeOf(x) / static_cast<float>(-half);
  const float inverse = Inverse(d);
  for (size_t i = 0; i < x.size(); ++i) {
    codes[i] = static_cast<uint8_t>(NearestCode(x[i] * inverse, -half, half - 1) + half);
  }
  return d;
}

struct ScaleAndMin {
  float d, m;
};

// codes[i] in [0, highest], value ~ d * code + m.
ScaleAndMin MinMaxCodes(std::span<const float> x, int highest, uint8_t* codes) {
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  const float d = (*high - *low) / static_cast<float>(highest);
  const float inverse = Inverse(d);
  for (size_t i = 0; i < x.size(); ++i) {
    codes[i] = static_cast<uint8_t>(NearestCode((x[i] - *low) * inverse, 0, highest));
  }
  return {d, *low};
}

void PackNibbles(const uint8_t* codes, uint8_t* qs) {
  for (int j = 0; j < 16; ++j) {
    qs[j] = static_cast<uint8_t>((codes[j] & 15) | (codes[j + 16] & 15) << 4);
  }
}

void PackFifthBits(const uint8_t* codes, uint8_t* qh) {
  std::fill_n(qh, 4, uint8_t{0});
  for (int i = 0; i < 32; ++i) {
    qh[i / 8] = static_cast<uint8_t>(qh[i / 8] | (codes[i] >> 4 & 1) << i % 8);
  }
}

void Pack(std::span<const float> x, BlockQ4_0* out) {
  uint8_t codes[32];
  out->d = StoreHalf(F32ToF16(SymmetricCodes(x, 8, codes)));
  PackNibbles(codes, out->qs);
}

void Pack(std::span<const float> x, BlockQ5_0* out) {
  uint8_t codes[32];
  out->d = StoreHalf(F32ToF16(SymmetricCodes(x, 16, codes)));
  PackNibbles(codes, out->qs);
  PackFifthBits(codes, out->qh);
}

void Pack(std::span<const float> x, BlockQ4_1* out) {
  uint8_t codes[32];
  const ScaleAndMin scales = MinMaxCodes(x, 15, codes);
  out->d = StoreHalf(F32ToF16(scales.d));
  out->m = StoreHalf(F32ToF16(scales.m));
  PackNibbles(codes, out->qs);
}

void Pack(std::span<const float> x, BlockQ5_1* out) {
  uint8_t codes[32];
  const ScaleAndMin scales = MinMaxCodes(x, 31, codes);
  out->d = StoreHalf(F32ToF16(scales.d));
  out->m = StoreHalf(F32ToF16(scales.m));
  PackNibbles(codes, out->qs);
  PackFifthBits(codes, out->qh);
}

void Pack(std::span<const float> x, BlockQ8_0* out) {
  const float d = std::fabs(ExtremeOf(x)) / 127;
  const float inverse = Inverse(d);
  out->d = StoreHalf(F32ToF16(d));
  for (size_t i = 0; i < 32; ++i) {
    out->qs[i] = static_cast<int8_t>(NearestCode(x[i] * inverse, -127, 127));
  }
}

template <typename Block>
void QuantizeBlocks(std::span<const float> src, std::span<std::byte> out) {
  constexpr size_t kElements = Block::kElements;
  for (size_t b = 0; b < src.size() / kElements; ++b) {
    Block block;
    Pack(src.subspan(b * kElements, kElements), &block);
    std::memcpy(&out[b * sizeof(block)], &block, sizeof(block));
  }
}

void QuantizeHalves(std::span<const float> src, uint16_t (*narrow)(float),
                    std::span<std::byte> out) {
  for (size_t i = 0; i < src.size(); ++i) {
    const HalfBytes half = StoreHalf(narrow(src[i]));
    std::memcpy(&out[2 * i], &half, sizeof(half));
  }
}

}  // namespace

void Quantize(TensorType type, std::span<const float> src, std::span<std::byte> out) {
  HUNCH_CHECK_EQ(out.size(), BytesOf(type, static_cast<int64_t>(src.size())));
  switch (type) {
    case TensorType::kF32:
      if (!src.empty()) std::memcpy(out.data(), src.data(), out.size());
      return;
    case TensorType::kF16:
      return QuantizeHalves(src, F32ToF16, out);
    case TensorType::kBF16:
      return QuantizeHalves(src, F32ToBf16, out);
    case TensorType::kQ4_0:
      return QuantizeBlocks<BlockQ4_0>(src, out);
    case TensorType::kQ4_1:
      return QuantizeBlocks<BlockQ4_1>(src, out);
    case TensorType::kQ5_0:
      return QuantizeBlocks<BlockQ5_0>(src, out);
    case TensorType::kQ5_1:
      return QuantizeBlocks<BlockQ5_1>(src, out);
    case TensorType::kQ8_0:
      return QuantizeBlocks<BlockQ8_0>(src, out);
    default:
      HUNCH_CHECK(false) << "no packer for " << GetTypeTraits(type).name;
  }
}

}  // namespace hunch

#include "quant/unpack.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "quant/blocks.h"
#include "quant/quant.h"

namespace hunch {
namespace {

float Widen(HalfBytes half) { return F16ToF32(LoadHalf(half)); }

int Nibble(uint8_t byte, int high) { return high != 0 ? byte >> 4 : byte & 15; }
int Bit(uint8_t byte, int bit) { return byte >> bit & 1; }

// The 4-bit part of weight i in a block of 32, and the fifth bit of Q5_0 and Q5_1.
int Nibble32(const uint8_t* qs, int i) { return Nibble(qs[i % 16], i / 16); }
int FifthBit32(const uint8_t* qh, int i) { return Bit(qh[i / 8], i % 8); }

// One scale for the whole block of 32, and an offset for the types that have `m`.
void SetSimple(BlockCodes* out, HalfBytes d) {
  out->elements = out->group_elements = 32;
  out->has_offset = false;
  out->d = out->scale[0] = Widen(d);
  out->dmin = 0;
  out->sub_scale[0] = 1;
  out->sub_min[0] = 0;
}
void SetSimple(BlockCodes* out, HalfBytes d, HalfBytes m) {
  SetSimple(out, d);
  out->has_offset = true;
  out->dmin = out->offset[0] = Widen(m);
}

// Fills scale and offset from d, dmin, sub_scale and sub_min.
void SetGrouped(BlockCodes* out, int group_elements, HalfBytes d, const HalfBytes* dmin) {
  out->elements = 256;
  out->group_elements = group_elements;
  out->has_offset = dmin != nullptr;
  out->d = Widen(d);
  out->dmin = dmin != nullptr ? Widen(*dmin) : 0;
  for (int g = 0; g < 256 / group_elements; ++g) {
    out->scale[g] = out->d * static_cast<float>(out->sub_scale[g]);
    if (dmin != nullptr) {
      out->offset[g] = -(out->dmin * static_cast<float>(out->sub_min[g]));
    } else {
      out->sub_min[g] = 0;
    }
  }
}

void Unpack(const BlockQ4_0& block, BlockCodes* out) {
  SetSimple(out, block.d);
  for (int i = 0; i < 32; ++i) out->codes[i] = static_cast<int8_t>(Nibble32(block.qs, i) - 8);
}

void Unpack(const BlockQ4_1& block, BlockCodes* out) {
  SetSimple(out, block.d, block.m);
  for (int i = 0; i < 32; ++i) out->codes[i] = static_cast<int8_t>(Nibble32(block.qs, i));
}

void Unpack(const BlockQ5_0& block, BlockCodes* out) {
  SetSimple(out, block.d);
  for (int i = 0; i < 32; ++i) {
    out->codes[i] = static_cast<int8_t>(Nibble32(block.qs, i) + 16 * FifthBit32(block.qh, i) - 16);
  }
}

void Unpack(const BlockQ5_1& block, BlockCodes* out) {
  SetSimple(out, block.d, block.m);
  for (int i = 0; i < 32; ++i) {
    out->codes[i] = static_cast<int8_t>(Nibble32(block.qs, i) + 16 * FifthBit32(block.qh, i));
  }
}

void Unpack(const BlockQ8_0& block, BlockCodes* out) {
  SetSimple(out, block.d);
  std::copy_n(block.qs, 32, out->codes);
}

void Unpack(const BlockIQ4_NL& block, BlockCodes* out) {
  SetSimple(out, block.d);
  for (int i = 0; i < 32; ++i) out->codes[i] = kIq4NlValues[Nibble32(block.qs, i)];
}

// The two-bit part of weight i in Q2_K and Q3_K, and the high two bits of Q6_K.
int TwoBits(const uint8_t* bytes, int i) {
  return bytes[32 * (i / 128) + i % 32] >> 2 * (i / 32 % 4) & 3;
}

void Unpack(const BlockQ2_K& block, BlockCodes* out) {
  for (int g = 0; g < 16; ++g) {
    out->sub_scale[g] = static_cast<int8_t>(Nibble(block.scales[g], 0));
    out->sub_min[g] = static_cast<uint8_t>(Nibble(block.scales[g], 1));
  }
  SetGrouped(out, 16, block.d, &block.dmin);
  for (int i = 0; i < 256; ++i) out->codes[i] = static_cast<int8_t>(TwoBits(block.qs, i));
}

void Unpack(const BlockQ3_K& block, BlockCodes* out) {
  for (int g = 0; g < 16; ++g) {
    const int low = Nibble(block.scales[g % 8], g / 8);
    const int high = block.scales[8 + g % 4] >> 2 * (g / 4) & 3;
    out->sub_scale[g] = static_cast<int8_t>(low + 16 * high - 32);
  }
  SetGrouped(out, 16, block.d, nullptr);
  for (int i = 0; i < 256; ++i) {
    const int hbit = Bit(block.hmask[i % 32], i / 32);
    out->codes[i] = static_cast<int8_t>(TwoBits(block.qs, i) + 4 * hbit - 4);
  }
}

// The eight six-bit scales and minima of Q4_K and Q5_K.
void UnpackSixBitScales(const uint8_t* scales, BlockCodes* out) {
  for (int g = 0; g < 4; ++g) {
    out->sub_scale[g] = static_cast<int8_t>(scales[g] & 63);
    out->sub_min[g] = static_cast<uint8_t>(scales[4 + g] & 63);
    out->sub_scale[4 + g] = static_cast<int8_t>(Nibble(scales[8 + g], 0) + 16 * (scales[g] >> 6));
    out->sub_min[4 + g] =
        static_cast<uint8_t>(Nibble(scales[8 + g], 1) + 16 * (scales[4 + g] >> 6));
  }
}

// The 4-bit part of weight i in Q4_K and Q5_K.
int Nibble256(const uint8_t* qs, int i) { return Nibble(qs[32 * (i / 64) + i % 32], i / 32 % 2); }

void Unpack(const BlockQ4_K& block, BlockCodes* out) {
  UnpackSixBitScales(block.scales, out);
  SetGrouped(out, 32, block.d, &block.dmin);
  for (int i = 0; i < 256; ++i) out->codes[i] = static_cast<int8_t>(Nibble256(block.qs, i));
}

void Unpack(const BlockQ5_K& block, BlockCodes* out) {
  UnpackSixBitScales(block.scales, out);
  SetGrouped(out, 32, block.d, &block.dmin);
  for (int i = 0; i < 256; ++i) {
    const int fifth = Bit(block.qh[i % 32], i / 32);
    out->codes[i] = static_cast<int8_t>(Nibble256(block.qs, i) + 16 * fifth);
  }
}

void Unpack(const BlockQ6_K& block, BlockCodes* out) {
  std::copy_n(block.scales, 16, out->sub_scale);
  SetGrouped(out, 16, block.d, nullptr);
  for (int i = 0; i < 256; ++i) {
    const int part = i / 32 % 4;
    const int low = Nibble(block.ql[64 * (i / 128) + 32 * (part % 2) + i % 32], part / 2);
    out->codes[i] = static_cast<int8_t>(low + 16 * TwoBits(block.qh, i) - 32);
  }
}

template <typename Block>
void UnpackAs(const std::byte* bytes, BlockCodes* out) {
  Block block;
  std::memcpy(&block, bytes, sizeof(block));
  Unpack(block, out);
}

}  // namespace

void UnpackCodes(TensorType type, const std::byte* block, BlockCodes* out) {
  switch (type) {
    case TensorType::kQ4_0:
      return UnpackAs<BlockQ4_0>(block, out);
    case TensorType::kQ4_1:
      return UnpackAs<BlockQ4_1>(block, out);
    case TensorType::kQ5_0:
      return UnpackAs<BlockQ5_0>(block, out);
    case TensorType::kQ5_1:
      return UnpackAs<BlockQ5_1>(block, out);
    case TensorType::kQ8_0:
      return UnpackAs<BlockQ8_0>(block, out);
    case TensorType::kQ2_K:
      return UnpackAs<BlockQ2_K>(block, out);
    case TensorType::kQ3_K:
      return UnpackAs<BlockQ3_K>(block, out);
    case TensorType::kQ4_K:
      return UnpackAs<BlockQ4_K>(block, out);
    case TensorType::kQ5_K:
      return UnpackAs<BlockQ5_K>(block, out);
    case TensorType::kQ6_K:
      return UnpackAs<BlockQ6_K>(block, out);
    case TensorType::kIQ4_NL:
      return UnpackAs<BlockIQ4_NL>(block, out);
    case TensorType::kF32:
    case TensorType::kF16:
    case TensorType::kBF16:
      break;
  }
  HUNCH_CHECK(false) << GetTypeTraits(type).name << " is not made of blocks";
}

}  // namespace hunch

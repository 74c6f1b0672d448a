#include "kernels/pack.h"

#include <array>
#include <cstring>

#include "kernels/pack_layout.h"
#include "quant/blocks.h"
#include "quant/quant.h"

namespace hunch {
namespace {

constexpr int kRows = 16;

uint32_t Load32(const uint8_t* from) {
  uint32_t value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}
void Store32(std::byte* to, uint32_t value) { std::memcpy(to, &value, sizeof(value)); }

uint16_t Load16(const std::byte* from) {
  uint16_t value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}
void Store16(std::byte* to, uint16_t value) { std::memcpy(to, &value, sizeof(value)); }

// The index of a level in kIq4NlValues; other values are no codes.
constexpr std::array<uint8_t, 256> InvertIq4Nl() {
  std::array<uint8_t, 256> index{};
  for (uint8_t i = 0; i < 16; ++i) index[static_cast<uint8_t>(kIq4NlValues[i])] = i;
  return index;
}
constexpr std::array<uint8_t, 256> kIq4NlIndex = InvertIq4Nl();

// The stored code of a BlockCodes code.
struct CodeMap {
  explicit CodeMap(TensorType type)
      : levels(type == TensorType::kIQ4_NL), offset(PackLayoutOf(type).code_offset) {}
  uint8_t Store(int8_t code) const {
    return levels ? kIq4NlIndex[static_cast<uint8_t>(code)] : static_cast<uint8_t>(code + offset);
  }
  int8_t Read(uint8_t stored) const {
    return levels ? kIq4NlValues[stored & 15] : static_cast<int8_t>(stored - offset);
  }
  bool levels;
  int offset;
};

// The quad whose bits sit at width * t of a vector's bytes. The 4-bit plane pairs quads j and j +
// 4; the others hold neighbours.
template <int width>
constexpr int QuadOf(int vector, int t) {
  return width == 4 ? vector + 4 * t : vector * (8 / width) + t;
}

// One plane of one row: bits [shift, shift + width) of the 32 codes u.
template <int width, int shift>
void WritePlane(const uint8_t* u, int row, std::byte* plane) {
  constexpr uint32_t kMask = 0x01010101u * ((1u << width) - 1);
  for (int vector = 0; vector < width; ++vector) {
    uint32_t lane = 0;
    for (int t = 0; t < 8 / width; ++t) {
      lane |= (Load32(u + 4 * QuadOf<width>(vector, t)) >> shift & kMask) << (width * t);
    }
    Store32(plane + 64 * vector + 4 * row, lane);
  }
}

// Adds the plane's bits to u.
template <int width, int shift>
void ReadPlane(const std::byte* plane, int row, uint8_t* u) {
  constexpr uint32_t kMask = 0x01010101u * ((1u << width) - 1);
  for (int vector = 0; vector < width; ++vector) {
    uint32_t lane;
    std::memcpy(&lane, plane + 64 * vector + 4 * row, sizeof(lane));
    for (int t = 0; t < 8 / width; ++t) {
      uint8_t* quad = u + 4 * QuadOf<width>(vector, t);
      const uint32_t bits = Load32(quad) | (lane >> (width * t) & kMask) << shift;
      std::memcpy(quad, &bits, sizeof(bits));
    }
  }
}

// u[32] of one row to and from the planes of its type.
template <int first, int second>
struct Planes {
  static void Write(const uint8_t* u, int row, std::byte* codes) {
    WritePlane<first, 0>(u, row, codes);
    if constexpr (second != 0) WritePlane<second, first>(u, row, codes + 64 * first);
  }
  static void Read(const std::byte* codes, int row, uint8_t* u) {
    std::memset(u, 0, 32);
    ReadPlane<first, 0>(codes, row, u);
    if constexpr (second != 0) ReadPlane<second, first>(codes + 64 * first, row, u);
  }
};

// Calls fn(Planes<...>{}) for this many bits per code.
template <typename Fn>
void WithPlanes(int code_bits, Fn fn) {
  switch (code_bits) {
    case 2:
      return fn(Planes<2, 0>{});
    case 3:
      return fn(Planes<2, 1>{});
    case 4:
      return fn(Planes<4, 0>{});
    case 5:
      return fn(Planes<4, 1>{});
    case 6:
      return fn(Planes<4, 2>{});
    default:
      return fn(Planes<8, 0>{});
  }
}

bool HasMin(ScaleKind kind) {
  return kind == ScaleKind::kBlockMin || kind == ScaleKind::kSuper32Min ||
         kind == ScaleKind::kSuper16Min;
}

void WriteSmallScales(ScaleKind kind, const BlockCodes& block, int row, std::byte* small) {
  switch (kind) {
    case ScaleKind::kSuper32Min:
      for (int g = 0; g < 8; ++g) {
        small[32 * g + row] = static_cast<std::byte>(block.sub_scale[g]);
        small[32 * g + 16 + row] = static_cast<std::byte>(block.sub_min[g]);
      }
      return;
    case ScaleKind::kSuper16:
      for (int g = 0; g < 16; ++g) {
        small[16 * g + row] = static_cast<std::byte>(block.sub_scale[g]);
      }
      return;
    case ScaleKind::kSuper16Min:
      for (int g = 0; g < 16; ++g) {
        small[16 * g + row] = static_cast<std::byte>(block.sub_scale[g] | block.sub_min[g] << 4);
      }
      return;
    default:
      return;
  }
}

void ReadSmallScales(ScaleKind kind, const std::byte* small, int row, BlockCodes* out) {
  for (int g = 0; g < out->elements / out->group_elements; ++g) {
    switch (kind) {
      case ScaleKind::kSuper32Min:
        out->sub_scale[g] = static_cast<int8_t>(small[32 * g + row]);
        out->sub_min[g] = static_cast<uint8_t>(small[32 * g + 16 + row]);
        break;
      case ScaleKind::kSuper16:
        out->sub_scale[g] = static_cast<int8_t>(small[16 * g + row]);
        out->sub_min[g] = 0;
        break;
      case ScaleKind::kSuper16Min:
        out->sub_scale[g] = static_cast<int8_t>(small[16 * g + row] & std::byte{15});
        out->sub_min[g] = static_cast<uint8_t>(small[16 * g + row] >> 4);
        break;
      default:
        out->sub_scale[g] = 1;
        out->sub_min[g] = 0;
    }
  }
}

bool Is16PerScale(ScaleKind kind) {
  return kind == ScaleKind::kSuper16 || kind == ScaleKind::kSuper16Min;
}

}  // namespace

void PackChunk(TensorType type, const BlockCodes* rows, std::byte* chunk) {
  const PackLayout layout = PackLayoutOf(type);
  const CodeMap map(type);
  for (int row = 0; row < kRows; ++row) {
    const BlockCodes& block = rows[row];
    Store16(chunk + layout.scales_at + 2 * row, F32ToF16(block.d));
    if (HasMin(layout.scales)) {
      Store16(chunk + layout.scales_at + kGroupHalves + 2 * row, F32ToF16(block.dmin));
    }
    WriteSmallScales(layout.scales, block, row, chunk + layout.small_at);
    for (int b = 0; b < layout.chunk_weights / 32; ++b) {
      uint8_t u[32];
      for (int i = 0; i < 32; ++i) u[i] = map.Store(block.codes[32 * b + i]);
      std::byte* codes = chunk + layout.codes_at + 64 * layout.code_bits * b;
      WithPlanes(layout.code_bits, [&](auto planes) { planes.Write(u, row, codes); });
    }
  }
}

void UnpackChunk(TensorType type, const std::byte* chunk, int row, BlockCodes* out) {
  const PackLayout layout = PackLayoutOf(type);
  const CodeMap map(type);
  out->elements = layout.chunk_weights;
  out->group_elements = Is16PerScale(layout.scales) ? 16 : 32;
  out->has_offset = HasMin(layout.scales);
  out->d = F16ToF32(Load16(chunk + layout.scales_at + 2 * row));
  out->dmin =
      out->has_offset ? F16ToF32(Load16(chunk + layout.scales_at + kGroupHalves + 2 * row)) : 0;
  ReadSmallScales(layout.scales, chunk + layout.small_at, row, out);
  for (int g = 0; g < out->elements / out->group_elements; ++g) {
    out->scale[g] = out->d * static_cast<float>(out->sub_scale[g]);
    if (layout.scales == ScaleKind::kBlockMin) {
      out->offset[g] = out->dmin;
    } else if (out->has_offset) {
      out->offset[g] = -(out->dmin * static_cast<float>(out->sub_min[g]));
    }
  }
  for (int b = 0; b < layout.chunk_weights / 32; ++b) {
    uint8_t u[32];
    const std::byte* codes = chunk + layout.codes_at + 64 * layout.code_bits * b;
    WithPlanes(layout.code_bits, [&](auto planes) { planes.Read(codes, row, u); });
    for (int i = 0; i < 32; ++i) out->codes[32 * b + i] = map.Read(u[i]);
  }
}

BlockCodes ZeroBlock(TensorType type) {
  BlockCodes zero{};
  zero.elements = PackLayoutOf(type).chunk_weights;
  return zero;
}

}  // namespace hunch

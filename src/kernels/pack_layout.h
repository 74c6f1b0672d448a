// The layout of packed weights: constants and offsets only, safe to include in files compiled for
// an instruction set.
//
// A matrix is an array of groups of 16 output rows; a group's bytes are contiguous and run along K,
// so one pass over a group is one linear stream. Rows past the last weigh zero.
//
// F32, F16, BF16: element k of row r of the group lies at index 16 * k + r.
//
// Quantised types: a group is an array of chunks, one per block of the file format (32 or 256
// weights of each of the 16 rows):
//
//   32 weights:   codes | d[16] f16 | m[16] f16 (Q4_1, Q5_1)
//   256 weights:  d[16] f16 | dmin[16] f16 (Q2_K, Q4_K, Q5_K) | small scales 256 B | codes x 8
//     small scales: Q4_K, Q5_K  [8]{sc[16], mn[16]} u8     (one per 32 weights)
//                   Q6_K, Q3_K  [16] sc[16] i8             (one per 16 weights)
//                   Q2_K        [16] (sc | mn << 4)[16] u8
//
// codes of 32 weights x 16 rows = 64 bytes per code bit, in planes of 64-byte vectors. Byte 4 * r +
// i of a vector belongs to row r; "quad j" are the weights k = 4 * j + i, i < 4, so a 32-bit lane
// is the operand of one 4-way int8 dot product and a SIMD lane is an output row:
//
//   4-bit plane (256 B): vector j < 4 has quad j in its low nibbles and quad j + 4 in its high ones
//   1-bit plane (64 B):  bit j belongs to quad j
//   2-bit plane (128 B): vector h < 2, bits 2 * t and up belong to quad 4 * h + t
//   8-bit plane (512 B): vector j is quad j
//
//   Q4_0 Q4_1 Q4_K IQ4_NL: 4-bit      Q5_0 Q5_1 Q5_K: 4-bit, then 1-bit (bit 4 of the code)
//   Q6_K: 4-bit, then 2-bit (bits 4, 5)    Q2_K: 2-bit    Q3_K: 2-bit, then 1-bit (bit 2)
//   Q8_0: 8-bit, as signed bytes
//
// Codes are unsigned, as in the file; the format's offset is taken off in the dot product.
#ifndef HUNCH_KERNELS_PACK_LAYOUT_H_
#define HUNCH_KERNELS_PACK_LAYOUT_H_

#include <cstdint>

#include "quant/types.h"

namespace hunch {

// How a chunk's codes become weights.
enum class ScaleKind : uint8_t {
  kNone,        // F32, F16, BF16
  kBlock,       // d per 32
  kBlockMin,    // d and m per 32
  kSuper32Min,  // d * sc and dmin * mn per 32
  kSuper16,     // d * sc per 16
  kSuper16Min,  // d * sc and dmin * mn per 16
};

struct PackLayout {
  ScaleKind scales;
  int chunk_weights;  // along K
  int code_bits;
  int code_offset;  // v = u - code_offset
  int codes_at;     // byte offset of the codes of the first 32 weights in the chunk
  int scales_at;    // of d (then m or dmin, 32 bytes further)
  int small_at;     // of the small scales
  int chunk_bytes;
};

inline constexpr int kGroupHalves = 32;  // bytes of 16 f16, one per row of a group

constexpr PackLayout BlockPackLayout(int bits, int offset, bool has_min) {
  const int codes = 64 * bits;
  return {has_min ? ScaleKind::kBlockMin : ScaleKind::kBlock,
          32,
          bits,
          offset,
          0,
          codes,
          0,
          codes + (has_min ? 2 : 1) * kGroupHalves};
}

constexpr PackLayout SuperPackLayout(int bits, int offset, ScaleKind scales) {
  const int halves = (scales == ScaleKind::kSuper16 ? 1 : 2) * kGroupHalves;
  return {scales, 256, bits, offset, halves + 256, 0, halves, halves + 256 + 8 * 64 * bits};
}

constexpr PackLayout PlainPackLayout(int bytes) {
  return {ScaleKind::kNone, 1, 8 * bytes, 0, 0, 0, 0, 16 * bytes};
}

constexpr PackLayout PackLayoutOf(TensorType type) {
  switch (type) {
    case TensorType::kF32:
      return PlainPackLayout(4);
    case TensorType::kF16:
      return PlainPackLayout(2);
    case TensorType::kBF16:
      return PlainPackLayout(2);
    case TensorType::kQ4_0:
      return BlockPackLayout(4, 8, false);
    case TensorType::kQ4_1:
      return BlockPackLayout(4, 0, true);
    case TensorType::kQ5_0:
      return BlockPackLayout(5, 16, false);
    case TensorType::kQ5_1:
      return BlockPackLayout(5, 0, true);
    case TensorType::kQ8_0:
      return BlockPackLayout(8, 0, false);
    case TensorType::kIQ4_NL:
      return BlockPackLayout(4, 0, false);
    case TensorType::kQ2_K:
      return SuperPackLayout(2, 0, ScaleKind::kSuper16Min);
    case TensorType::kQ3_K:
      return SuperPackLayout(3, 4, ScaleKind::kSuper16);
    case TensorType::kQ4_K:
      return SuperPackLayout(4, 0, ScaleKind::kSuper32Min);
    case TensorType::kQ5_K:
      return SuperPackLayout(5, 0, ScaleKind::kSuper32Min);
    case TensorType::kQ6_K:
      return SuperPackLayout(6, 32, ScaleKind::kSuper16);
  }
  return {};
}

}  // namespace hunch

#endif  // HUNCH_KERNELS_PACK_LAYOUT_H_

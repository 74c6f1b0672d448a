// One block of any quantised type in one shape: integer codes and fp32 scales per group. This is
// what the kernels' packers read, and Dequantize is built on it, so the two cannot disagree. Thread
// safe (pure).
#ifndef HUNCH_QUANT_UNPACK_H_
#define HUNCH_QUANT_UNPACK_H_

#include <cstddef>
#include <cstdint>

#include "quant/types.h"

namespace hunch {

// Weight i of the block, in group g = i / group_elements, is
//   scale[g] * codes[i]                without an offset
//   scale[g] * codes[i] + offset[g]    with one
// with these very roundings (product, then sum). scale[g] = d * sub_scale[g] and offset[g] = -(dmin
// * sub_min[g]) (K types) or m (Q4_1, Q5_1) are exact. Codes are signed with the format's offset
// removed
// (`v` of docs/numerics.md) where there is no offset array, else unsigned (`u`).
struct BlockCodes {
  int elements;        // 32 or 256
  int group_elements;  // 16 or 32
  bool has_offset;
  int8_t codes[256];     // [elements]
  float scale[16];       // [elements / group_elements]
  float offset[16];      // [elements / group_elements], unset without has_offset
  float d;               // the block's f16 scale, widened
  float dmin;            // the f16 scale of the minima (K types) or m (Q4_1, Q5_1); else 0
  int8_t sub_scale[16];  // the small integer scales of K types; 1 for the others
  uint8_t sub_min[16];   // the small integer minima of Q2_K, Q4_K, Q5_K; else 0
};

// `block` points to GetTypeTraits(type).block_bytes bytes, at any alignment. CHECKs that the type
// is a quantised one (not F32, F16, BF16).
void UnpackCodes(TensorType type, const std::byte* block, BlockCodes* out);

}  // namespace hunch

#endif  // HUNCH_QUANT_UNPACK_H_

// Unpacking of weight blocks, scalar: the written truth of each format. Kernels are tested against
// these. Thread safe (pure).
#ifndef HUNCH_QUANT_QUANT_H_
#define HUNCH_QUANT_QUANT_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "quant/types.h"

namespace hunch {

float F16ToF32(uint16_t half);
uint16_t F32ToF16(float value);  // round to nearest even, as F16C does
float Bf16ToF32(uint16_t half);
uint16_t F32ToBf16(float value);  // round to nearest even

// Bytes of `elements` weights; CHECKs that elements is a whole number of blocks.
size_t BytesOf(TensorType type, int64_t elements);

// out[elements] = the weights of src[BytesOf(type, elements)]. CHECKs sizes.
void Dequantize(TensorType type, std::span<const std::byte> src, std::span<float> out);

}  // namespace hunch

#endif  // HUNCH_QUANT_QUANT_H_

// Packing of weights into blocks, scalar: for models that are made smaller at load, and for heads.
// Pure; thread safe; the same bits on every machine.
#ifndef HUNCH_QUANT_QUANTIZE_H_
#define HUNCH_QUANT_QUANTIZE_H_

#include <cstddef>
#include <span>
#include <vector>

#include "quant/types.h"

namespace hunch {

// dst[BytesOf(kQ4_0, x.size())] = x as Q4_0 blocks; x.size() is a multiple of 32. Of a few scales
// each block takes the one with the least sum of squared errors, which is never more than with the
// usual scale, (value of largest magnitude) / -8, where each weight is off by at most one step: an
// eighth of that magnitude. A block of no more than 2^-20, of more than 65000 (the scale would have
// no f16 worth having), or with NaN or infinity in it, becomes zeros: no model of use has one.
void QuantizeQ4_0(std::span<const float> x, std::span<std::byte> dst);

// dst[BytesOf(kQ8_0, x.size())] = x as Q8_0 blocks; x.size() is a multiple of 32. The scale is the
// largest magnitude / 127; each weight is off by half a step at most. A block of more than 65000,
// or with NaN or infinity in it, becomes zeros.
void QuantizeQ8_0(std::span<const float> x, std::span<std::byte> dst);

// The types that heads' matrices can be written as.
inline constexpr TensorType kHeadTypes[] = {TensorType::kQ8_0, TensorType::kQ4_0, TensorType::kF16,
                                            TensorType::kF32};
// x as one of them; of the quantised ones x.size() is a multiple of 32.
std::vector<std::byte> Encode(std::span<const float> x, TensorType type);

}  // namespace hunch

#endif  // HUNCH_QUANT_QUANTIZE_H_

// Chunks of the packed layout (pack_layout.h) to and from quant/'s BlockCodes. Pure; thread safe.
#ifndef HUNCH_KERNELS_PACK_H_
#define HUNCH_KERNELS_PACK_H_

#include <cstddef>

#include "quant/types.h"
#include "quant/unpack.h"

namespace hunch {

// rows[16] -> one chunk of PackLayoutOf(type).chunk_bytes, every byte of it. Quantised types only.
void PackChunk(TensorType type, const BlockCodes* rows, std::byte* chunk);

// One row of a chunk, with every field as UnpackCodes sets it for the same block of the file.
void UnpackChunk(TensorType type, const std::byte* chunk, int row, BlockCodes* out);

// A block of weight zero: what pads the last group.
BlockCodes ZeroBlock(TensorType type);

}  // namespace hunch

#endif  // HUNCH_KERNELS_PACK_H_

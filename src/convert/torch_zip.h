// Checkpoints as torch.save writes them since 1.6 (pytorch_model.bin, *.pt): a zip archive with a
// pickle (tensor_pickle.h) and an entry of bytes for each storage. Hostile input. Pure; thread
// safe.
#ifndef HUNCH_CONVERT_TORCH_ZIP_H_
#define HUNCH_CONVERT_TORCH_ZIP_H_

#include <cstddef>
#include <span>
#include <string_view>

#include "base/result.h"
#include "convert/named_tensor.h"

namespace hunch {

// The tensors point into `bytes`. `name` is what errors call the file.
Result<NamedTensors> ParseTorchZip(std::span<const std::byte> bytes, std::string_view name);

}  // namespace hunch

#endif  // HUNCH_CONVERT_TORCH_ZIP_H_

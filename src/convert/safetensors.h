// safetensors files: a length, a table in JSON, and the tensors' bytes. The file is hostile input:
// every offset, shape and type is checked against the bytes that are there. Pure; thread safe.
#ifndef HUNCH_CONVERT_SAFETENSORS_H_
#define HUNCH_CONVERT_SAFETENSORS_H_

#include <cstddef>
#include <span>
#include <string_view>

#include "base/result.h"
#include "convert/named_tensor.h"

namespace hunch {

// The tensors point into `bytes`. `name` is what errors call the file.
Result<NamedTensors> ParseSafetensors(std::span<const std::byte> bytes, std::string_view name);

}  // namespace hunch

#endif  // HUNCH_CONVERT_SAFETENSORS_H_

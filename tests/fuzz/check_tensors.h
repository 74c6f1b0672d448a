// What holds of any file of tensors that was read, for fuzz targets.
#ifndef HUNCH_TESTS_FUZZ_CHECK_TENSORS_H_
#define HUNCH_TESTS_FUZZ_CHECK_TENSORS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "convert/named_tensor.h"

namespace hunch {

// Every tensor lies in `bytes`, and all of its numbers can be read.
inline void CheckTensors(const Result<NamedTensors>& tensors, std::span<const std::byte> bytes) {
  if (!tensors.ok()) {
    HUNCH_CHECK(!tensors.error().message.empty());
    return;
  }
  for (const auto& [name, tensor] : *tensors) {
    HUNCH_CHECK(CheckedBytes(tensor.type, tensor.shape) ==
                static_cast<int64_t>(tensor.data.size()));
    HUNCH_CHECK(tensor.data.empty() ||
                (tensor.data.data() >= bytes.data() &&
                 tensor.data.data() + tensor.data.size() <= bytes.data() + bytes.size()));
    std::vector<float> numbers(tensor.data.size() / TraitsOf(tensor.type).bytes);
    ReadFloats(tensor, 0, numbers);
    (void)ReadInts(tensor);
  }
}

}  // namespace hunch

#endif  // HUNCH_TESTS_FUZZ_CHECK_TENSORS_H_

// Fuzz target: any bytes as a checkpoint of torch; if the first is 1, the rest is the pickle of
// one. Nothing may crash, hang, call anything or leave a tensor outside the bytes.
#include <cstddef>
#include <cstdint>
#include <span>

#include "convert/tensor_pickle.h"
#include "convert/torch_zip.h"
#include "fuzz/check_tensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  if (size == 0 || data[0] != 1) {
    hunch::CheckTensors(hunch::ParseTorchZip(bytes, "fuzz"), bytes);
    return 0;
  }
  const auto tensors = hunch::ReadTensorPickle(bytes.subspan(1), "fuzz");
  if (!tensors.ok()) {
    HUNCH_CHECK(!tensors.error().message.empty());
    return 0;
  }
  for (const hunch::PickledTensor& tensor : *tensors) {
    const int64_t own = hunch::CheckedBytes(tensor.type, tensor.shape).value();
    HUNCH_CHECK_GE(tensor.offset, 0);
    HUNCH_CHECK_LE(own / hunch::TraitsOf(tensor.type).bytes,
                   tensor.storage_elements - tensor.offset);
  }
  return 0;
}

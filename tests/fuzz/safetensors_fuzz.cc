// Fuzz target: any bytes as a safetensors file. Nothing may crash, hang or leave a tensor outside
// the bytes.
#include <cstddef>
#include <cstdint>
#include <span>

#include "convert/safetensors.h"
#include "fuzz/check_tensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  hunch::CheckTensors(hunch::ParseSafetensors(bytes, "fuzz"), bytes);
  return 0;
}

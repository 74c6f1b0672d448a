// Fuzz target: any bytes as a head file. What ReadHeadConfig gives has tensors of the shapes that
// it says.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "draft/head_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = hunch::GgufFile::Parse(std::as_bytes(std::span(data, size)), "fuzz");
  if (!file.ok()) return 0;
  (void)hunch::IsHead(**file);
  const auto config = hunch::ReadHeadConfig(**file);
  if (!config.ok()) {
    HUNCH_CHECK(!config.error().message.empty());
    return 0;
  }
  for (const hunch::HeadTensor& part : hunch::HeadTensors(*config)) {
    const hunch::GgufTensor* const tensor = (*file)->FindTensor(part.name);
    if (tensor == nullptr) {
      HUNCH_CHECK(part.optional);
      continue;
    }
    HUNCH_CHECK(tensor->shape == part.shape());
  }
  return 0;
}

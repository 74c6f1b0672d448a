// Fuzz target: any bytes as a GGUF file. Nothing may crash, hang or leave a tensor outside the
// bytes; what is read can be written again and reads back equal (an accepted file is one that we
// understood).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "quant/quant.h"
#include "weights/gguf.h"

namespace {

using hunch::GgufFile;
using hunch::GgufTensor;
using hunch::GgufValue;
using hunch::GgufWriter;

// The look-ups, whatever the key's type is.
void LookUpEverything(const GgufFile& file) {
  for (const auto& [key, value] : file.metadata()) {
    (void)file.GetIntOr(key, 0).ok();
    (void)file.GetFloatOr(key, 0).ok();
    (void)file.GetBoolOr(key, false).ok();
    (void)file.GetStringOr(key, "").ok();
    (void)file.GetStrings(key).ok();
    (void)file.GetInts(key).ok();
  }
}

void CheckTensors(const GgufFile& file, std::span<const std::byte> bytes) {
  for (const GgufTensor& tensor : file.tensors()) {
    HUNCH_CHECK(tensor.data.data() >= bytes.data());
    HUNCH_CHECK(tensor.data.data() + tensor.data.size() <= bytes.data() + bytes.size());
    HUNCH_CHECK_EQ(tensor.data.size(), hunch::BytesOf(tensor.type, tensor.elements()));
    HUNCH_CHECK(file.FindTensor(tensor.name) == &tensor);
    std::vector<float> weights(static_cast<size_t>(tensor.columns()));
    hunch::Dequantize(tensor.type, tensor.data.first(hunch::BytesOf(tensor.type, tensor.columns())),
                      weights);
  }
}

void CheckRoundTrip(const GgufFile& file) {
  GgufWriter writer;
  for (const auto& [key, value] : file.metadata()) writer.Set(key, value);
  for (const GgufTensor& tensor : file.tensors()) {
    writer.AddTensor(tensor.name, tensor.type, tensor.shape,
                     {tensor.data.begin(), tensor.data.end()});
  }
  const std::vector<std::byte> written = writer.Serialize();
  const auto again = GgufFile::Parse(written, "written");
  HUNCH_CHECK(again.ok()) << again.error().message;
  HUNCH_CHECK_EQ((*again.value()).metadata().size(), file.metadata().size());
  HUNCH_CHECK_EQ((*again.value()).tensors().size(), file.tensors().size());
  for (size_t i = 0; i < file.tensors().size(); ++i) {
    const GgufTensor& was = file.tensors()[i];
    const GgufTensor& is = (*again.value()).tensors()[i];
    HUNCH_CHECK(was.name == is.name && was.shape == is.shape && was.type == is.type);
    HUNCH_CHECK(std::equal(was.data.begin(), was.data.end(), is.data.begin(), is.data.end()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  const auto file = GgufFile::Parse(bytes, "fuzz");
  if (!file.ok()) {
    HUNCH_CHECK(!file.error().message.empty());
    return 0;
  }
  LookUpEverything(*file.value());
  CheckTensors(*file.value(), bytes);
  CheckRoundTrip(*file.value());
  return 0;
}

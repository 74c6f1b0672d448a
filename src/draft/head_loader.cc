#include "draft/head_loader.h"

#include <fmt/format.h>

#include <utility>

#include "quant/quant.h"

namespace hunch {
namespace {

// From a cache line on.
size_t MemoryOf(const GgufTensor& tensor) {
  return (PackedMatrix::PackedBytes(tensor.type, tensor.rows(), tensor.columns()) + 63) / 64 * 64;
}

}  // namespace

size_t HeadMatrixBytes(const GgufFile& file, const HeadConfig& config) {
  size_t bytes = 0;
  for (const HeadTensor& part : HeadTensors(config)) {
    if (part.rows > 0) bytes += MemoryOf(*file.FindTensor(part.name));
  }
  return bytes;
}

size_t HeadVectorBytes(const HeadConfig& config) {
  size_t bytes = 0;
  for (const HeadTensor& part : HeadTensors(config)) {
    if (part.rows == 0) bytes += static_cast<size_t>(part.columns) * sizeof(float);
  }
  return bytes;
}

std::vector<float> HeadLoader::Vector(std::string_view name) {
  const GgufTensor* const tensor = file_.FindTensor(name);
  if (tensor == nullptr) return {};
  std::vector<float> values(tensor->elements());
  Dequantize(tensor->type, tensor->data, values);
  return values;
}

Status HeadLoader::Take(std::string_view name, PackedMatrix& matrix) {
  const GgufTensor* const tensor = file_.FindTensor(name);
  if (tensor == nullptr) return Ok{};
  auto packed = PackedMatrix::Pack(tensor->type, tensor->rows(), tensor->columns(), tensor->data,
                                   pool_, memory_, [this] { file_.DropPages(); });
  if (!packed.ok()) {
    return Error{packed.error().code,
                 fmt::format("{}: tensor {}: {}", file_.name(), name, packed.error().message)};
  }
  memory_ += MemoryOf(*tensor);
  matrix = std::move(packed).value();
  return Ok{};
}

}  // namespace hunch

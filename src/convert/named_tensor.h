// NamedTensor: a tensor of somebody else's file, with its numbers as they lie there. Values; thread
// safe.
#ifndef HUNCH_CONVERT_NAMED_TENSOR_H_
#define HUNCH_CONVERT_NAMED_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hunch {

enum class NumberType { kF32, kF16, kBF16, kF64, kI64, kI32, kBool };

struct NumberTraits {
  NumberType type;
  int bytes;
  std::string_view safetensors;  // its name there
  std::string_view storage;      // torch's class of storages of it
};
std::span<const NumberTraits> NumberTypes();
const NumberTraits& TraitsOf(NumberType type);

struct NamedTensor {
  NumberType type = NumberType::kF32;
  std::vector<int64_t> shape;       // torch's order: the last one is contiguous; not negative
  std::span<const std::byte> data;  // in the file; exactly its elements
};
// Of one file, by name.
using NamedTensors = std::map<std::string, NamedTensor, std::less<>>;

// Bytes of a tensor; nothing if a dimension is negative or the product leaves 63 bits.
std::optional<int64_t> CheckedBytes(NumberType type, std::span<const int64_t> shape);

// out = the numbers from `first` on, in fp32. CHECKs that they are there.
void ReadFloats(const NamedTensor& tensor, int64_t first, std::span<float> out);
// All of them; nothing if they are not whole numbers by their type.
std::optional<std::vector<int64_t>> ReadInts(const NamedTensor& tensor);

}  // namespace hunch

#endif  // HUNCH_CONVERT_NAMED_TENSOR_H_

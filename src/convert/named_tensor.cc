#include "convert/named_tensor.h"

#include <array>
#include <cstring>

#include "base/check.h"
#include "quant/quant.h"

namespace hunch {
namespace {

// In the order of the enumeration.
constexpr auto kTypes = std::to_array<NumberTraits>({
    {NumberType::kF32, 4, "F32", "FloatStorage"},
    {NumberType::kF16, 2, "F16", "HalfStorage"},
    {NumberType::kBF16, 2, "BF16", "BFloat16Storage"},
    {NumberType::kF64, 8, "F64", "DoubleStorage"},
    {NumberType::kI64, 8, "I64", "LongStorage"},
    {NumberType::kI32, 4, "I32", "IntStorage"},
    {NumberType::kBool, 1, "BOOL", "BoolStorage"},
});

// A file aligns nothing.
template <typename T>
T NumberAt(const NamedTensor& tensor, int64_t index) {
  T number;
  std::memcpy(&number, tensor.data.data() + index * int64_t{sizeof(T)}, sizeof(T));
  return number;
}

float FloatAt(const NamedTensor& tensor, int64_t index) {
  switch (tensor.type) {
    case NumberType::kF32:
      return NumberAt<float>(tensor, index);
    case NumberType::kF16:
      return F16ToF32(NumberAt<uint16_t>(tensor, index));
    case NumberType::kBF16:
      return Bf16ToF32(NumberAt<uint16_t>(tensor, index));
    case NumberType::kF64:
      return static_cast<float>(NumberAt<double>(tensor, index));
    case NumberType::kI64:
      return static_cast<float>(NumberAt<int64_t>(tensor, index));
    case NumberType::kI32:
      return static_cast<float>(NumberAt<int32_t>(tensor, index));
    case NumberType::kBool:
      return NumberAt<uint8_t>(tensor, index) != 0 ? 1.0f : 0.0f;
  }
  return 0;
}

}  // namespace

std::span<const NumberTraits> NumberTypes() { return kTypes; }
const NumberTraits& TraitsOf(NumberType type) { return kTypes[static_cast<size_t>(type)]; }

std::optional<int64_t> CheckedBytes(NumberType type, std::span<const int64_t> shape) {
  int64_t bytes = TraitsOf(type).bytes;
  for (const int64_t dim : shape) {
    if (dim < 0 || __builtin_mul_overflow(bytes, dim, &bytes)) return std::nullopt;
  }
  return bytes;
}

void ReadFloats(const NamedTensor& tensor, int64_t first, std::span<float> out) {
  const auto elements = static_cast<int64_t>(tensor.data.size()) / TraitsOf(tensor.type).bytes;
  HUNCH_CHECK_GE(first, 0);
  HUNCH_CHECK_LE(static_cast<int64_t>(out.size()), elements - first);
  for (size_t i = 0; i < out.size(); ++i) out[i] = FloatAt(tensor, first + static_cast<int64_t>(i));
}

std::optional<std::vector<int64_t>> ReadInts(const NamedTensor& tensor) {
  if (tensor.type != NumberType::kI64 && tensor.type != NumberType::kI32) return std::nullopt;
  std::vector<int64_t> numbers(tensor.data.size() / TraitsOf(tensor.type).bytes);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    numbers[i] = tensor.type == NumberType::kI64 ? NumberAt<int64_t>(tensor, index)
                                                 : NumberAt<int32_t>(tensor, index);
  }
  return numbers;
}

}  // namespace hunch

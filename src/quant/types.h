// The tensor types of GGUF that Hunch reads, their numbers in the file, and their block shapes.
#ifndef HUNCH_QUANT_TYPES_H_
#define HUNCH_QUANT_TYPES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace hunch {

// Values are GGUF's (ggml_type).
enum class TensorType : uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ2_K = 10,
  kQ3_K = 11,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kIQ4_NL = 20,
  kBF16 = 30,
};

struct TypeTraits {
  TensorType type;
  std::string_view name;  // as GGUF tools print it: "Q4_K"
  int block_elements;     // weights per block, along a row
  int block_bytes;
};

// All of the above, in ascending order of their numbers.
std::span<const TypeTraits> KnownTypes();
// Null for a number that is not one of the above.
const TypeTraits* FindTypeTraits(uint32_t gguf_type);
const TypeTraits& GetTypeTraits(TensorType type);

}  // namespace hunch

#endif  // HUNCH_QUANT_TYPES_H_

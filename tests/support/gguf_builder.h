// GgufBuilder: tiny GGUF files written byte for byte, so that any field can be wrong. It knows
// nothing of src/weights (a fault there cannot hide itself here). By default the counts, lengths
// and offsets it writes are the true ones; every one of them can be overridden. Not thread safe.
#ifndef HUNCH_TESTS_SUPPORT_GGUF_BUILDER_H_
#define HUNCH_TESTS_SUPPORT_GGUF_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace hunch {

// A number as its little-endian bytes.
template <typename T>
std::string Raw(T value) {
  static_assert(std::is_arithmetic_v<T>);
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}
// A length and the text; `length` overrides the true one.
std::string RawString(std::string_view text, std::optional<uint64_t> length = std::nullopt);
// An array value: element type, count, elements (already encoded).
std::string RawArray(uint32_t element_type, uint64_t count, std::string_view elements);
std::string RawStrings(const std::vector<std::string>& strings);

// GGUF's numbers for value types.
enum GgufWireType : uint32_t {
  kWireU8 = 0,
  kWireI8 = 1,
  kWireU16 = 2,
  kWireI16 = 3,
  kWireU32 = 4,
  kWireI32 = 5,
  kWireF32 = 6,
  kWireBool = 7,
  kWireString = 8,
  kWireArray = 9,
  kWireU64 = 10,
  kWireI64 = 11,
  kWireF64 = 12,
};

struct GgufBuilder {
  struct Key {
    std::string name;
    uint32_t type = kWireU32;
    std::string value;  // encoded
    std::optional<uint64_t> name_length;
  };
  struct Tensor {
    std::string name;
    std::vector<uint64_t> dims;
    uint32_t type = 0;  // F32
    std::string data;
    std::optional<uint64_t> name_length;
    std::optional<uint32_t> n_dims;
    std::optional<uint64_t> offset;
  };

  std::string magic = "GGUF";
  uint32_t version = 3;
  std::vector<Key> keys;
  std::vector<Tensor> tensors;
  std::optional<uint64_t> key_count;
  std::optional<uint64_t> tensor_count;
  uint64_t alignment = 32;  // of the data; writes no key

  GgufBuilder& Add(std::string name, uint32_t type, std::string value) {
    keys.push_back({std::move(name), type, std::move(value), std::nullopt});
    return *this;
  }
  // A tensor of `bytes` data bytes that count up from 0.
  GgufBuilder& AddTensor(std::string name, std::vector<uint64_t> dims, uint32_t type, size_t bytes);

  // The part before the tensors' data, with its padding; and all of it.
  std::string BuildHeader() const;
  std::string Build() const;

  // A valid file of about 1 kB: every value type, arrays of all element types, four tensors (F32,
  // F16, Q8_0, Q4_K; 1, 2, 3 and 4 dims).
  static GgufBuilder Small();
};

inline std::vector<std::byte> ToBytes(std::string_view text) {
  std::vector<std::byte> bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

}  // namespace hunch

#endif  // HUNCH_TESTS_SUPPORT_GGUF_BUILDER_H_

// Numbers of the GGUF file format, versions 2 and 3, and the bounds Hunch sets on it. Shared by the
// reader and the writer.
//
// A file is: magic, version (u32), tensor count (u64), key count (u64); then the keys, each a
// string, a value type (u32) and a value; then per tensor a string (its name), n_dims (u32), the
// dims (u64 each, the contiguous one first), its type (u32) and its offset (u64); then padding to
// the alignment; then the tensors' data, at their offsets from here. A string is a length (u64) and
// bytes. An array value is an element type (u32), a count (u64) and the elements. Everything is
// little endian.
#ifndef HUNCH_WEIGHTS_GGUF_FORMAT_H_
#define HUNCH_WEIGHTS_GGUF_FORMAT_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hunch::gguf {

// Numbers are copied between file and memory as they are.
static_assert(std::endian::native == std::endian::little, "Hunch reads GGUF on little-endian CPUs");

inline constexpr std::string_view kMagic = "GGUF";
inline constexpr uint32_t kOldestVersion = 2;
inline constexpr uint32_t kNewestVersion = 3;
inline constexpr std::string_view kAlignmentKey = "general.alignment";
inline constexpr uint64_t kDefaultAlignment = 32;

enum class ValueType : uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

// From the format's description.
inline constexpr uint64_t kMaxKeyBytes = 65535;
inline constexpr uint64_t kMaxTensorNameBytes = 64;
inline constexpr uint32_t kMaxDims = 4;
inline constexpr uint64_t kMinAlignment =
    8;  // the format asks for a multiple of 8; we for a power of 2

// Ours. What a header may make us allocate is bounded by its own bytes (no count is believed that
// the remaining bytes cannot back), but a value in memory is up to 8 times its bytes in the file;
// these keep the whole under about half a gigabyte for any file. Real models: some 50 keys, up
// to 1.5 million array elements (262k tokens with scores, types and merges), 20 MB of header, a few
// thousand tensors.
inline constexpr uint64_t kMaxHeaderBytes = uint64_t{256} << 20;
inline constexpr uint64_t kMaxKeys = 1 << 16;
inline constexpr uint64_t kMaxArrayElements = 1 << 23;  // of all arrays of the file together
inline constexpr uint64_t kMaxTensors = 1 << 18;
inline constexpr uint64_t kMaxAlignment = 65536;

constexpr bool IsValidAlignment(uint64_t alignment) {
  return std::has_single_bit(alignment) && alignment >= kMinAlignment && alignment <= kMaxAlignment;
}

// `alignment` is valid; `offset` is at most 2^63.
constexpr uint64_t AlignUp(uint64_t offset, uint64_t alignment) {
  return (offset + alignment - 1) & ~(alignment - 1);
}

}  // namespace hunch::gguf

#endif  // HUNCH_WEIGHTS_GGUF_FORMAT_H_

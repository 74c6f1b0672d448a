// Parsing of a GGUF file that may be damaged or made to hurt.
//
// Invariants: nothing is read but through ByteCursor; no memory is reserved for a count from the
// file before the remaining bytes are known to hold that many of the smallest possible element; no
// sum or product of numbers from the file is formed unchecked; no recursion (an array inside an
// array is refused).
#include "weights/gguf_parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/utf8.h"
#include "weights/byte_cursor.h"
#include "weights/gguf_format.h"
#include "weights/gguf_source.h"
#include "weights/gguf_values.h"

namespace hunch {
namespace {

// Smallest encodings: a key is a one-byte string, a type and a one-byte value; a tensor is a
// one-byte name, n_dims, one dim, a type and an offset.
constexpr uint64_t kMinKeyBytes = 9 + 4 + 1;
constexpr uint64_t kMinTensorBytes = 9 + 4 + 8 + 4 + 8;

class Parser {
 public:
  Parser(std::span<const std::byte> bytes, std::string_view name)
      : source_(bytes, name), cursor_(source_.cursor()), values_(&source_) {}
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  Result<GgufContents> Parse() {
    HUNCH_RETURN_IF_ERROR(ReadPreamble());
    for (uint64_t i = 0; i < key_count_; ++i) HUNCH_RETURN_IF_ERROR(ReadKey(i));
    HUNCH_RETURN_IF_ERROR(ReadAlignment());
    contents_.tensors.reserve(tensor_count_);  // the preamble checked it against the bytes
    offsets_.reserve(tensor_count_);
    for (uint64_t i = 0; i < tensor_count_; ++i) HUNCH_RETURN_IF_ERROR(ReadTensorInfo(i));
    HUNCH_RETURN_IF_ERROR(PlaceTensors());
    return std::move(contents_);
  }

 private:
  Status ReadPreamble();
  Status ReadKey(uint64_t index);
  Status ReadAlignment();
  Status ReadTensorInfo(uint64_t index);
  Result<std::vector<int64_t>> ReadShape(std::string_view where);
  Result<uint64_t> TensorBytes(const GgufTensor& tensor, std::string_view where) const;
  Status PlaceTensors();

  GgufSource source_;
  ByteCursor& cursor_;
  GgufValueReader values_;
  uint64_t tensor_count_ = 0;
  uint64_t key_count_ = 0;
  uint64_t alignment_ = gguf::kDefaultAlignment;
  GgufContents contents_;
  std::vector<uint64_t> offsets_;  // [tensors], from the start of the data
};

Status Parser::ReadPreamble() {
  std::span<const std::byte> magic_bytes;
  if (!cursor_.ReadBytes(gguf::kMagic.size(), &magic_bytes)) {
    return source_.Truncated("the magic number");
  }
  const std::string_view magic(reinterpret_cast<const char*>(magic_bytes.data()),
                               magic_bytes.size());
  if (magic != gguf::kMagic) {
    const bool lfs = magic == "vers";  // "version https://git-lfs..."
    return source_.Bad(fmt::format("not a GGUF file: it starts with {}{}", Quote(magic),
                                   lfs ? " (a Git LFS pointer? then run `git lfs pull`)" : ""));
  }
  uint32_t version;
  if (!cursor_.Read(&version)) return source_.Truncated("the version");
  if (version != 0 && (version & 0xFFFF) == 0) {
    return source_.Unsupported(
        "a big-endian GGUF file; Hunch reads little-endian ones only: convert it again for this "
        "machine");
  }
  if (version < gguf::kOldestVersion || version > gguf::kNewestVersion) {
    return source_.Unsupported(
        fmt::format("GGUF version {}; Hunch reads versions {} and {}: convert the model again",
                    version, gguf::kOldestVersion, gguf::kNewestVersion));
  }
  if (!cursor_.Read(&tensor_count_)) return source_.Truncated("the tensor count");
  if (!cursor_.Read(&key_count_)) return source_.Truncated("the key count");
  if (!cursor_.CanHold(key_count_, kMinKeyBytes)) {
    return source_.TooMany("header", key_count_, "keys");
  }
  if (!cursor_.CanHold(tensor_count_, kMinTensorBytes)) {
    return source_.TooMany("header", tensor_count_, "tensors");
  }
  if (key_count_ > gguf::kMaxKeys || tensor_count_ > gguf::kMaxTensors) {
    return source_.Unsupported(fmt::format("{} keys and {} tensors; Hunch reads at most {} and {}",
                                           key_count_, tensor_count_, gguf::kMaxKeys,
                                           gguf::kMaxTensors));
  }
  return Ok{};
}

Status Parser::ReadKey(uint64_t index) {
  std::string_view key;
  if (!cursor_.ReadString(&key)) {
    return source_.Truncated(fmt::format("the name of key {} of {}", index + 1, key_count_));
  }
  const std::string where = fmt::format("key {}", Quote(key));
  if (key.empty()) {
    return source_.Bad(fmt::format("key {} of {} has an empty name", index + 1, key_count_));
  }
  if (key.size() > gguf::kMaxKeyBytes || key.find('\0') != key.npos) {
    return source_.Bad(fmt::format("{}: a key is at most {} bytes without a NUL; this one has {}",
                                   where, gguf::kMaxKeyBytes, key.size()));
  }
  HUNCH_ASSIGN_OR_RETURN(GgufValue value, values_.Read(where));
  if (!contents_.metadata.try_emplace(std::string(key), std::move(value)).second) {
    return source_.Bad(fmt::format("{} appears twice", where));
  }
  return Ok{};
}

Status Parser::ReadAlignment() {
  const auto found = contents_.metadata.find(gguf::kAlignmentKey);
  if (found == contents_.metadata.end()) return Ok{};
  const uint64_t* value = std::get_if<uint64_t>(&found->second);
  if (value == nullptr) return source_.Bad("key \"general.alignment\" is not an unsigned integer");
  if (!gguf::IsValidAlignment(*value)) {
    return source_.Bad(
        fmt::format("general.alignment is {}; it has to be a power of two from {} to {}", *value,
                    gguf::kMinAlignment, gguf::kMaxAlignment));
  }
  alignment_ = *value;
  return Ok{};
}

std::string KnownTypeNames() {
  std::string names;
  for (const TypeTraits& traits : KnownTypes()) {
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", traits.name,
                         static_cast<uint32_t>(traits.type));
  }
  return names;
}

Result<std::vector<int64_t>> Parser::ReadShape(std::string_view where) {
  uint32_t n_dims;
  if (!cursor_.Read(&n_dims)) {
    return source_.Truncated(fmt::format("the number of dimensions of {}", where));
  }
  if (n_dims < 1 || n_dims > gguf::kMaxDims) {
    return source_.Bad(
        fmt::format("{}: {} dimensions; 1 to {} are possible", where, n_dims, gguf::kMaxDims));
  }
  std::vector<int64_t> shape;
  int64_t elements = 1;
  for (uint32_t d = 0; d < n_dims; ++d) {
    uint64_t dim;
    if (!cursor_.Read(&dim)) return source_.Truncated(fmt::format("the dimensions of {}", where));
    if (dim < 1 || dim > uint64_t{std::numeric_limits<int64_t>::max()}) {
      return source_.Bad(fmt::format("{}: dimension {} is {}", where, d, dim));
    }
    shape.push_back(static_cast<int64_t>(dim));
    if (__builtin_mul_overflow(elements, shape.back(), &elements)) {
      return source_.Bad(
          fmt::format("{}: its {} dimensions multiply to more than 2^63 elements", where, n_dims));
    }
  }
  return shape;
}

Result<uint64_t> Parser::TensorBytes(const GgufTensor& tensor, std::string_view where) const {
  const TypeTraits& traits = GetTypeTraits(tensor.type);
  if (tensor.columns() % traits.block_elements != 0) {
    return source_.Bad(fmt::format("{}: rows of {} elements are not whole {} blocks of {}", where,
                                   tensor.columns(), traits.name, traits.block_elements));
  }
  const auto blocks = static_cast<uint64_t>(tensor.elements() / traits.block_elements);
  uint64_t bytes;
  if (__builtin_mul_overflow(blocks, static_cast<uint64_t>(traits.block_bytes), &bytes)) {
    return source_.Bad(fmt::format("{}: {} elements of {} are more than 2^64 bytes", where,
                                   tensor.elements(), traits.name));
  }
  return bytes;
}

Status Parser::ReadTensorInfo(uint64_t index) {
  std::string_view name;
  if (!cursor_.ReadString(&name)) {
    return source_.Truncated(fmt::format("the name of tensor {} of {}", index + 1, tensor_count_));
  }
  const std::string where = fmt::format("tensor {}", Quote(name));
  if (name.empty()) {
    return source_.Bad(fmt::format("tensor {} of {} has an empty name", index + 1, tensor_count_));
  }
  if (name.size() > gguf::kMaxTensorNameBytes || name.find('\0') != name.npos) {
    return source_.Bad(
        fmt::format("{}: a tensor's name is at most {} bytes without a NUL; this one has {}", where,
                    gguf::kMaxTensorNameBytes, name.size()));
  }
  GgufTensor tensor;
  tensor.name = name;
  HUNCH_ASSIGN_OR_RETURN(tensor.shape, ReadShape(where));
  uint32_t type;
  uint64_t offset;
  if (!cursor_.Read(&type)) return source_.Truncated(fmt::format("the type of {}", where));
  if (!cursor_.Read(&offset)) return source_.Truncated(fmt::format("the offset of {}", where));
  const TypeTraits* traits = FindTypeTraits(type);
  if (traits == nullptr) {
    return source_.Unsupported(
        fmt::format("{} has type number {}, which Hunch does not read; it reads {}", where, type,
                    KnownTypeNames()));
  }
  tensor.type = traits->type;
  if (!contents_.tensor_index.try_emplace(tensor.name, index).second) {
    return source_.Bad(fmt::format("{} appears twice", where));
  }
  contents_.tensors.push_back(std::move(tensor));
  offsets_.push_back(offset);
  return Ok{};
}

// Gives every tensor its data, which begins at the first aligned byte after the tensor infos.
Status Parser::PlaceTensors() {
  const uint64_t data_start = gguf::AlignUp(cursor_.position(), alignment_);
  const std::span<const std::byte> data =
      source_.bytes().subspan(std::min<uint64_t>(data_start, source_.bytes().size()));
  std::vector<size_t> by_offset(contents_.tensors.size());
  std::iota(by_offset.begin(), by_offset.end(), size_t{0});
  std::sort(by_offset.begin(), by_offset.end(), [this](size_t a, size_t b) {
    return offsets_[a] != offsets_[b] ? offsets_[a] < offsets_[b] : a < b;
  });
  uint64_t previous_end = 0;
  const GgufTensor* previous = nullptr;
  for (size_t i : by_offset) {
    GgufTensor& tensor = contents_.tensors[i];
    const std::string where = fmt::format("tensor {}", Quote(tensor.name));
    HUNCH_ASSIGN_OR_RETURN(const uint64_t bytes, TensorBytes(tensor, where));
    if (offsets_[i] % alignment_ != 0) {
      return source_.Bad(fmt::format("{}: offset {} is not a multiple of the file's alignment, {}",
                                     where, offsets_[i], alignment_));
    }
    if (offsets_[i] > data.size() || bytes > data.size() - offsets_[i]) {
      return source_.Bad(
          fmt::format("{}: its {} bytes at offset {} reach past the end of the file, which has {} "
                      "bytes of tensor data; it is cut short or damaged: fetch it again",
                      where, bytes, offsets_[i], data.size()));
    }
    if (offsets_[i] < previous_end) {
      return source_.Bad(fmt::format("{} (at offset {}) overlaps tensor {} (up to {})", where,
                                     offsets_[i], Quote(previous->name), previous_end));
    }
    tensor.data = data.subspan(offsets_[i], bytes);
    previous_end = offsets_[i] + bytes;
    previous = &tensor;
  }
  return Ok{};
}

}  // namespace

Result<GgufContents> ParseGguf(std::span<const std::byte> bytes, std::string_view name) {
  return Parser(bytes, name).Parse();
}

}  // namespace hunch

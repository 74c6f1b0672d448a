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
#include <type_traits>

#include "weights/byte_cursor.h"
#include "weights/gguf_format.h"

namespace hunch {
namespace {

using gguf::ValueType;

// Smallest encodings: an empty string is its length; a key is a one-byte string, a type and a
// one-byte value; a tensor is a one-byte name, n_dims, one dim, a type and an offset.
constexpr uint64_t kMinStringBytes = 8;
constexpr uint64_t kMinKeyBytes = 9 + 4 + 1;
constexpr uint64_t kMinTensorBytes = 9 + 4 + 8 + 4 + 8;

class Parser {
 public:
  Parser(std::span<const std::byte> bytes, std::string_view name)
      : bytes_(bytes),
        name_(name),
        cursor_(bytes.first(std::min<uint64_t>(bytes.size(), gguf::kMaxHeaderBytes))) {}

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
  Error Bad(std::string_view what) const {
    return {ErrorCode::kBadFile, fmt::format("{}: {}", name_, what)};
  }
  Error Unsupported(std::string_view what) const {
    return {ErrorCode::kUnsupported, fmt::format("{}: {}", name_, what)};
  }
  // The cursor could not read `what`.
  Error Truncated(std::string_view what) const {
    if (bytes_.size() > gguf::kMaxHeaderBytes) {
      return Bad(
          fmt::format("{} (at byte {}) reaches past {} MiB, the most that Hunch reads of a header",
                      what, cursor_.position(), gguf::kMaxHeaderBytes >> 20));
    }
    return Bad(fmt::format(
        "the file ends (at byte {}) inside {}, which starts at byte {}; it is cut short "
        "or damaged: fetch it again",
        bytes_.size(), what, cursor_.position()));
  }
  // "1099511627776 strings cannot fit into the 12 bytes that are left".
  Error TooMany(std::string_view where, uint64_t count, std::string_view things) const {
    return Bad(
        fmt::format("{}: {} {} cannot fit into the {} bytes that follow; the file is cut short or "
                    "damaged: fetch it again",
                    where, count, things, cursor_.left()));
  }

  Status ReadPreamble();
  Status ReadKey(uint64_t index);
  Result<GgufValue> ReadValue(ValueType type, std::string_view where);
  Result<GgufValue> ReadArray(std::string_view where);
  Result<bool> ReadBool(std::string_view where);
  Status CheckArrayCount(uint64_t count, uint64_t bytes_each, std::string_view where);
  template <typename Wire, typename Wide>
  Result<GgufValue> ReadNumber(std::string_view where);
  template <typename Wire, typename Wide>
  Result<GgufValue> ReadNumbers(uint64_t count, std::string_view where);
  Result<GgufValue> ReadBools(uint64_t count, std::string_view where);
  Result<GgufValue> ReadStrings(uint64_t count, std::string_view where);
  Status ReadAlignment();
  Status ReadTensorInfo(uint64_t index);
  Result<std::vector<int64_t>> ReadShape(std::string_view where);
  Result<uint64_t> TensorBytes(const GgufTensor& tensor, std::string_view where) const;
  Status PlaceTensors();

  const std::span<const std::byte> bytes_;
  const std::string_view name_;
  ByteCursor cursor_;
  uint64_t tensor_count_ = 0;
  uint64_t key_count_ = 0;
  uint64_t array_elements_ = 0;  // of all arrays so far
  uint64_t alignment_ = gguf::kDefaultAlignment;
  GgufContents contents_;
  std::vector<uint64_t> offsets_;  // [tensors], from the start of the data
};

Status Parser::ReadPreamble() {
  std::span<const std::byte> magic_bytes;
  if (!cursor_.ReadBytes(gguf::kMagic.size(), &magic_bytes)) return Truncated("the magic number");
  const std::string_view magic(reinterpret_cast<const char*>(magic_bytes.data()),
                               magic_bytes.size());
  if (magic != gguf::kMagic) {
    const bool lfs = magic == "vers";  // "version https://git-lfs..."
    return Bad(fmt::format("not a GGUF file: it starts with {}{}", QuoteForMessage(magic),
                           lfs ? " (a Git LFS pointer? then run `git lfs pull`)" : ""));
  }
  uint32_t version;
  if (!cursor_.Read(&version)) return Truncated("the version");
  if (version != 0 && (version & 0xFFFF) == 0) {
    return Unsupported(
        "a big-endian GGUF file; Hunch reads little-endian ones only: convert it again for this "
        "machine");
  }
  if (version < gguf::kOldestVersion || version > gguf::kNewestVersion) {
    return Unsupported(
        fmt::format("GGUF version {}; Hunch reads versions {} and {}: convert the model again",
                    version, gguf::kOldestVersion, gguf::kNewestVersion));
  }
  if (!cursor_.Read(&tensor_count_)) return Truncated("the tensor count");
  if (!cursor_.Read(&key_count_)) return Truncated("the key count");
  if (!cursor_.CanHold(key_count_, kMinKeyBytes)) return TooMany("header", key_count_, "keys");
  if (!cursor_.CanHold(tensor_count_, kMinTensorBytes)) {
    return TooMany("header", tensor_count_, "tensors");
  }
  if (key_count_ > gguf::kMaxKeys || tensor_count_ > gguf::kMaxTensors) {
    return Unsupported(fmt::format("{} keys and {} tensors; Hunch reads at most {} and {}",
                                   key_count_, tensor_count_, gguf::kMaxKeys, gguf::kMaxTensors));
  }
  return Ok{};
}

Status Parser::ReadKey(uint64_t index) {
  std::string_view key;
  if (!cursor_.ReadString(&key)) {
    return Truncated(fmt::format("the name of key {} of {}", index + 1, key_count_));
  }
  const std::string where = fmt::format("key {}", QuoteForMessage(key));
  if (key.empty()) return Bad(fmt::format("key {} of {} has an empty name", index + 1, key_count_));
  if (key.size() > gguf::kMaxKeyBytes || key.find('\0') != key.npos) {
    return Bad(fmt::format("{}: a key is at most {} bytes without a NUL; this one has {}", where,
                           gguf::kMaxKeyBytes, key.size()));
  }
  uint32_t type;
  if (!cursor_.Read(&type)) return Truncated(fmt::format("the type of {}", where));
  HUNCH_ASSIGN_OR_RETURN(GgufValue value, ReadValue(static_cast<ValueType>(type), where));
  if (!contents_.metadata.try_emplace(std::string(key), std::move(value)).second) {
    return Bad(fmt::format("{} appears twice", where));
  }
  return Ok{};
}

template <typename Wire, typename Wide>
Result<GgufValue> Parser::ReadNumber(std::string_view where) {
  Wire value;
  if (!cursor_.Read(&value)) return Truncated(fmt::format("the value of {}", where));
  return GgufValue(static_cast<Wide>(value));
}

Result<GgufValue> Parser::ReadValue(ValueType type, std::string_view where) {
  switch (type) {
    case ValueType::kUint8:
      return ReadNumber<uint8_t, uint64_t>(where);
    case ValueType::kInt8:
      return ReadNumber<int8_t, int64_t>(where);
    case ValueType::kUint16:
      return ReadNumber<uint16_t, uint64_t>(where);
    case ValueType::kInt16:
      return ReadNumber<int16_t, int64_t>(where);
    case ValueType::kUint32:
      return ReadNumber<uint32_t, uint64_t>(where);
    case ValueType::kInt32:
      return ReadNumber<int32_t, int64_t>(where);
    case ValueType::kUint64:
      return ReadNumber<uint64_t, uint64_t>(where);
    case ValueType::kInt64:
      return ReadNumber<int64_t, int64_t>(where);
    case ValueType::kFloat32:
      return ReadNumber<float, double>(where);
    case ValueType::kFloat64:
      return ReadNumber<double, double>(where);
    case ValueType::kBool: {
      HUNCH_ASSIGN_OR_RETURN(const bool value, ReadBool(where));
      return GgufValue(value);
    }
    case ValueType::kString: {
      std::string_view text;
      if (!cursor_.ReadString(&text)) return Truncated(fmt::format("the text of {}", where));
      return GgufValue(std::string(text));
    }
    case ValueType::kArray:
      return ReadArray(where);
  }
  return Bad(fmt::format("{}: unknown value type {} (0 to 12 are known)", where,
                         static_cast<uint32_t>(type)));
}

Result<bool> Parser::ReadBool(std::string_view where) {
  uint8_t byte;
  if (!cursor_.Read(&byte)) return Truncated(fmt::format("the value of {}", where));
  if (byte > 1) return Bad(fmt::format("{}: a bool is 0 or 1, not {}", where, byte));
  return byte == 1;
}

Status Parser::CheckArrayCount(uint64_t count, uint64_t bytes_each, std::string_view where) {
  if (!cursor_.CanHold(count, bytes_each)) return TooMany(where, count, "array elements");
  array_elements_ += count;  // both below 2^61: CanHold
  if (array_elements_ > gguf::kMaxArrayElements) {
    return Unsupported(
        fmt::format("{}: with its {} array elements the file has more than {}, the most that "
                    "Hunch reads",
                    where, count, gguf::kMaxArrayElements));
  }
  return Ok{};
}

template <typename Wire, typename Wide>
Result<GgufValue> Parser::ReadNumbers(uint64_t count, std::string_view where) {
  HUNCH_RETURN_IF_ERROR(CheckArrayCount(count, sizeof(Wire), where));
  std::vector<Wide> values(count);
  for (Wide& value : values) {
    Wire wire;
    if (!cursor_.Read(&wire)) return Truncated(fmt::format("the array of {}", where));
    value = static_cast<Wide>(wire);
  }
  return GgufValue(std::move(values));
}

Result<GgufValue> Parser::ReadBools(uint64_t count, std::string_view where) {
  HUNCH_RETURN_IF_ERROR(CheckArrayCount(count, 1, where));
  std::vector<bool> values(count);
  for (uint64_t i = 0; i < count; ++i) {
    HUNCH_ASSIGN_OR_RETURN(values[i], ReadBool(where));
  }
  return GgufValue(std::move(values));
}

Result<GgufValue> Parser::ReadStrings(uint64_t count, std::string_view where) {
  HUNCH_RETURN_IF_ERROR(CheckArrayCount(count, kMinStringBytes, where));
  std::vector<std::string> values(count);
  for (uint64_t i = 0; i < count; ++i) {
    std::string_view text;
    if (!cursor_.ReadString(&text)) {
      return Truncated(fmt::format("string {} of {} of {}", i + 1, count, where));
    }
    values[i] = text;
  }
  return GgufValue(std::move(values));
}

Result<GgufValue> Parser::ReadArray(std::string_view where) {
  uint32_t type;
  uint64_t count;
  if (!cursor_.Read(&type) || !cursor_.Read(&count)) {
    return Truncated(fmt::format("the array header of {}", where));
  }
  switch (static_cast<ValueType>(type)) {
    case ValueType::kUint8:
      return ReadNumbers<uint8_t, uint64_t>(count, where);
    case ValueType::kInt8:
      return ReadNumbers<int8_t, int64_t>(count, where);
    case ValueType::kUint16:
      return ReadNumbers<uint16_t, uint64_t>(count, where);
    case ValueType::kInt16:
      return ReadNumbers<int16_t, int64_t>(count, where);
    case ValueType::kUint32:
      return ReadNumbers<uint32_t, uint64_t>(count, where);
    case ValueType::kInt32:
      return ReadNumbers<int32_t, int64_t>(count, where);
    case ValueType::kUint64:
      return ReadNumbers<uint64_t, uint64_t>(count, where);
    case ValueType::kInt64:
      return ReadNumbers<int64_t, int64_t>(count, where);
    case ValueType::kFloat32:
      return ReadNumbers<float, double>(count, where);
    case ValueType::kFloat64:
      return ReadNumbers<double, double>(count, where);
    case ValueType::kBool:
      return ReadBools(count, where);
    case ValueType::kString:
      return ReadStrings(count, where);
    case ValueType::kArray:
      return Unsupported(fmt::format("{}: an array of arrays; no model needs one", where));
  }
  return Bad(fmt::format("{}: unknown array element type {} (0 to 12 are known)", where, type));
}

Status Parser::ReadAlignment() {
  const auto found = contents_.metadata.find(gguf::kAlignmentKey);
  if (found == contents_.metadata.end()) return Ok{};
  const uint64_t* value = std::get_if<uint64_t>(&found->second);
  if (value == nullptr) return Bad("key \"general.alignment\" is not an unsigned integer");
  if (!gguf::IsValidAlignment(*value)) {
    return Bad(fmt::format("general.alignment is {}; it has to be a power of two from {} to {}",
                           *value, gguf::kMinAlignment, gguf::kMaxAlignment));
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
  if (!cursor_.Read(&n_dims))
    return Truncated(fmt::format("the number of dimensions of {}", where));
  if (n_dims < 1 || n_dims > gguf::kMaxDims) {
    return Bad(
        fmt::format("{}: {} dimensions; 1 to {} are possible", where, n_dims, gguf::kMaxDims));
  }
  std::vector<int64_t> shape;
  int64_t elements = 1;
  for (uint32_t d = 0; d < n_dims; ++d) {
    uint64_t dim;
    if (!cursor_.Read(&dim)) return Truncated(fmt::format("the dimensions of {}", where));
    if (dim < 1 || dim > uint64_t{std::numeric_limits<int64_t>::max()}) {
      return Bad(fmt::format("{}: dimension {} is {}", where, d, dim));
    }
    shape.push_back(static_cast<int64_t>(dim));
    if (__builtin_mul_overflow(elements, shape.back(), &elements)) {
      return Bad(
          fmt::format("{}: its {} dimensions multiply to more than 2^63 elements", where, n_dims));
    }
  }
  return shape;
}

Result<uint64_t> Parser::TensorBytes(const GgufTensor& tensor, std::string_view where) const {
  const TypeTraits& traits = GetTypeTraits(tensor.type);
  if (tensor.columns() % traits.block_elements != 0) {
    return Bad(fmt::format("{}: rows of {} elements are not whole {} blocks of {}", where,
                           tensor.columns(), traits.name, traits.block_elements));
  }
  const auto blocks = static_cast<uint64_t>(tensor.elements() / traits.block_elements);
  uint64_t bytes;
  if (__builtin_mul_overflow(blocks, static_cast<uint64_t>(traits.block_bytes), &bytes)) {
    return Bad(fmt::format("{}: {} elements of {} are more than 2^64 bytes", where,
                           tensor.elements(), traits.name));
  }
  return bytes;
}

Status Parser::ReadTensorInfo(uint64_t index) {
  std::string_view name;
  if (!cursor_.ReadString(&name)) {
    return Truncated(fmt::format("the name of tensor {} of {}", index + 1, tensor_count_));
  }
  const std::string where = fmt::format("tensor {}", QuoteForMessage(name));
  if (name.empty())
    return Bad(fmt::format("tensor {} of {} has an empty name", index + 1, tensor_count_));
  if (name.size() > gguf::kMaxTensorNameBytes || name.find('\0') != name.npos) {
    return Bad(fmt::format("{}: a tensor's name is at most {} bytes without a NUL; this one has {}",
                           where, gguf::kMaxTensorNameBytes, name.size()));
  }
  GgufTensor tensor;
  tensor.name = name;
  HUNCH_ASSIGN_OR_RETURN(tensor.shape, ReadShape(where));
  uint32_t type;
  uint64_t offset;
  if (!cursor_.Read(&type)) return Truncated(fmt::format("the type of {}", where));
  if (!cursor_.Read(&offset)) return Truncated(fmt::format("the offset of {}", where));
  const TypeTraits* traits = FindTypeTraits(type);
  if (traits == nullptr) {
    return Unsupported(fmt::format("{} has type number {}, which Hunch does not read; it reads {}",
                                   where, type, KnownTypeNames()));
  }
  tensor.type = traits->type;
  if (!contents_.tensor_index.try_emplace(tensor.name, index).second) {
    return Bad(fmt::format("{} appears twice", where));
  }
  contents_.tensors.push_back(std::move(tensor));
  offsets_.push_back(offset);
  return Ok{};
}

// Gives every tensor its data, which begins at the first aligned byte after the tensor infos.
Status Parser::PlaceTensors() {
  const uint64_t data_start = gguf::AlignUp(cursor_.position(), alignment_);
  const std::span<const std::byte> data =
      bytes_.subspan(std::min<uint64_t>(data_start, bytes_.size()));
  std::vector<size_t> by_offset(contents_.tensors.size());
  std::iota(by_offset.begin(), by_offset.end(), size_t{0});
  std::sort(by_offset.begin(), by_offset.end(), [this](size_t a, size_t b) {
    return offsets_[a] != offsets_[b] ? offsets_[a] < offsets_[b] : a < b;
  });
  uint64_t previous_end = 0;
  const GgufTensor* previous = nullptr;
  for (size_t i : by_offset) {
    GgufTensor& tensor = contents_.tensors[i];
    const std::string where = fmt::format("tensor {}", QuoteForMessage(tensor.name));
    HUNCH_ASSIGN_OR_RETURN(const uint64_t bytes, TensorBytes(tensor, where));
    if (offsets_[i] % alignment_ != 0) {
      return Bad(fmt::format("{}: offset {} is not a multiple of the file's alignment, {}", where,
                             offsets_[i], alignment_));
    }
    if (offsets_[i] > data.size() || bytes > data.size() - offsets_[i]) {
      return Bad(
          fmt::format("{}: its {} bytes at offset {} reach past the end of the file, which has {} "
                      "bytes of tensor data; it is cut short or damaged: fetch it again",
                      where, bytes, offsets_[i], data.size()));
    }
    if (offsets_[i] < previous_end) {
      return Bad(fmt::format("{} (at offset {}) overlaps tensor {} (up to {})", where, offsets_[i],
                             QuoteForMessage(previous->name), previous_end));
    }
    tensor.data = data.subspan(offsets_[i], bytes);
    previous_end = offsets_[i] + bytes;
    previous = &tensor;
  }
  return Ok{};
}

}  // namespace

std::string QuoteForMessage(std::string_view text) {
  constexpr size_t kMost = 80;
  std::string quoted = "\"";
  for (char c : text.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7E) {
      quoted += fmt::format("\\x{:02x}", byte);
    } else {
      quoted += c;
    }
  }
  quoted += text.size() > kMost ? "...\"" : "\"";
  return quoted;
}

Result<GgufContents> ParseGguf(std::span<const std::byte> bytes, std::string_view name) {
  return Parser(bytes, name).Parse();
}

}  // namespace hunch

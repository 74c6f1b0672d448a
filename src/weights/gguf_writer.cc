#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "quant/quant.h"
#include "weights/gguf.h"
#include "weights/gguf_format.h"
#include "weights/temporary_file.h"

namespace hunch {
namespace {

using gguf::ValueType;

// Appends little-endian numbers and length-prefixed strings.
class ByteSink {
 public:
  template <typename T>
  void Number(T value) {
    static_assert(std::is_arithmetic_v<T>);
    Bytes(std::as_bytes(std::span(&value, 1)));
  }
  void Type(ValueType type) { Number(static_cast<uint32_t>(type)); }
  void String(std::string_view text) {
    Number(uint64_t{text.size()});
    Bytes(std::as_bytes(std::span(text)));
  }
  void Bytes(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void PadTo(uint64_t alignment) { bytes_.resize(gguf::AlignUp(bytes_.size(), alignment)); }
  std::vector<std::byte> Take() && { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// The narrowest of two types that holds every value, and whether that is the narrow one.
bool IsNarrow(uint64_t value) { return value <= std::numeric_limits<uint32_t>::max(); }
bool IsNarrow(int64_t value) { return value == static_cast<int32_t>(value); }
bool IsNarrow(double value) {
  // Converting a finite double beyond float's range is undefined. NaN goes wide, to keep its
  // payload.
  return std::fabs(value) <= std::numeric_limits<float>::max()
             ? static_cast<double>(static_cast<float>(value)) == value
             : std::fabs(value) == std::numeric_limits<double>::infinity();
}

template <typename Wide>
struct Wire;
template <>
struct Wire<uint64_t> {
  using Narrow = uint32_t;
  static constexpr ValueType kNarrow = ValueType::kUint32, kWide = ValueType::kUint64;
};
template <>
struct Wire<int64_t> {
  using Narrow = int32_t;
  static constexpr ValueType kNarrow = ValueType::kInt32, kWide = ValueType::kInt64;
};
template <>
struct Wire<double> {
  using Narrow = float;
  static constexpr ValueType kNarrow = ValueType::kFloat32, kWide = ValueType::kFloat64;
};

// WriteValue(value, sink): the value's type, then the value.
template <typename Wide>
void WriteValue(Wide value, ByteSink* sink) {
  const bool narrow = IsNarrow(value);
  sink->Type(narrow ? Wire<Wide>::kNarrow : Wire<Wide>::kWide);
  if (narrow) {
    sink->Number(static_cast<typename Wire<Wide>::Narrow>(value));
  } else {
    sink->Number(value);
  }
}

void WriteValue(bool value, ByteSink* sink) {
  sink->Type(ValueType::kBool);
  sink->Number(static_cast<uint8_t>(value));
}

void WriteValue(const std::string& value, ByteSink* sink) {
  sink->Type(ValueType::kString);
  sink->String(value);
}

void WriteArrayHeader(ValueType type, size_t count, ByteSink* sink) {
  sink->Type(ValueType::kArray);
  sink->Type(type);
  sink->Number(uint64_t{count});
}

template <typename Wide>
void WriteValue(const std::vector<Wide>& values, ByteSink* sink) {
  const bool narrow = std::all_of(values.begin(), values.end(), [](Wide v) { return IsNarrow(v); });
  WriteArrayHeader(narrow ? Wire<Wide>::kNarrow : Wire<Wide>::kWide, values.size(), sink);
  for (Wide value : values) {
    if (narrow) {
      sink->Number(static_cast<typename Wire<Wide>::Narrow>(value));
    } else {
      sink->Number(value);
    }
  }
}

void WriteValue(const std::vector<bool>& values, ByteSink* sink) {
  WriteArrayHeader(ValueType::kBool, values.size(), sink);
  for (bool value : values) sink->Number(static_cast<uint8_t>(value));
}

void WriteValue(const std::vector<std::string>& values, ByteSink* sink) {
  WriteArrayHeader(ValueType::kString, values.size(), sink);
  for (const std::string& value : values) sink->String(value);
}

}  // namespace

void GgufWriter::Set(std::string key, GgufValue value) {
  HUNCH_CHECK(!key.empty() && key.size() <= gguf::kMaxKeyBytes && key.find('\0') == key.npos)
      << "key " << key;
  if (key == gguf::kAlignmentKey) {
    const uint64_t* alignment = std::get_if<uint64_t>(&value);
    HUNCH_CHECK(alignment != nullptr && gguf::IsValidAlignment(*alignment));
  }
  for (auto& [known, old] : metadata_) {
    if (known != key) continue;
    old = std::move(value);
    return;
  }
  metadata_.emplace_back(std::move(key), std::move(value));
}

void GgufWriter::AddTensor(std::string name, TensorType type, std::vector<int64_t> shape,
                           std::vector<std::byte> data) {
  AddTensorView(std::move(name), type, std::move(shape), data);
  tensors_.back().owned = std::move(data);
}

void GgufWriter::AddTensorView(std::string name, TensorType type, std::vector<int64_t> shape,
                               std::span<const std::byte> data) {
  HUNCH_CHECK(!name.empty() && name.size() <= gguf::kMaxTensorNameBytes &&
              name.find('\0') == name.npos)
      << "tensor " << name;
  for (const Tensor& tensor : tensors_) HUNCH_CHECK(tensor.name != name) << name << " twice";
  HUNCH_CHECK(!shape.empty() && shape.size() <= gguf::kMaxDims) << name;
  int64_t elements = 1;
  for (int64_t dim : shape) {
    HUNCH_CHECK_GE(dim, 1) << name;
    HUNCH_CHECK(!__builtin_mul_overflow(elements, dim, &elements)) << name;
  }
  HUNCH_CHECK_EQ(shape[0] % GetTypeTraits(type).block_elements, 0) << name;
  HUNCH_CHECK_EQ(data.size(), BytesOf(type, elements)) << name;
  tensors_.push_back({std::move(name), type, std::move(shape), {}, data});
}

uint64_t GgufWriter::Alignment() const {
  for (const auto& [key, value] : metadata_) {
    if (key == gguf::kAlignmentKey) return std::get<uint64_t>(value);
  }
  return gguf::kDefaultAlignment;
}

std::vector<std::byte> GgufWriter::SerializeHeader() const {
  ByteSink sink;
  sink.Bytes(std::as_bytes(std::span(gguf::kMagic)));
  sink.Number(gguf::kNewestVersion);
  sink.Number(uint64_t{tensors_.size()});
  sink.Number(uint64_t{metadata_.size()});
  for (const auto& [key, value] : metadata_) {
    sink.String(key);
    std::visit([&sink](const auto& typed) { WriteValue(typed, &sink); }, value);
  }
  uint64_t offset = 0;
  for (const Tensor& tensor : tensors_) {
    sink.String(tensor.name);
    sink.Number(static_cast<uint32_t>(tensor.shape.size()));
    for (int64_t dim : tensor.shape) sink.Number(static_cast<uint64_t>(dim));
    sink.Number(static_cast<uint32_t>(tensor.type));
    sink.Number(offset);
    offset = gguf::AlignUp(offset + tensor.data().size(), Alignment());
  }
  sink.PadTo(Alignment());
  return std::move(sink).Take();
}

std::vector<std::byte> GgufWriter::Serialize() const {
  std::vector<std::byte> file = SerializeHeader();
  for (const Tensor& tensor : tensors_) {
    file.insert(file.end(), tensor.data().begin(), tensor.data().end());
    file.resize(gguf::AlignUp(file.size(), Alignment()));
  }
  return file;
}

Status GgufWriter::WriteFile(const std::string& path) const {
  TemporaryFile file(path);
  const std::vector<std::byte> padding(Alignment());
  file.Write(SerializeHeader());
  for (const Tensor& tensor : tensors_) {
    const size_t bytes = tensor.data().size();
    file.Write(tensor.data());
    file.Write(std::span(padding).first(gguf::AlignUp(bytes, Alignment()) - bytes));
  }
  file.MoveIntoPlace();
  if (!file.ok()) return file.Failure();
  return Ok{};
}

}  // namespace hunch

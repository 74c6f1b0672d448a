#include "weights/gguf_values.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "weights/gguf_format.h"

namespace hunch {
namespace {

using gguf::ValueType;

constexpr uint64_t kMinStringBytes = 8;  // the length of an empty one

}  // namespace

template <typename Wire, typename Wide>
Result<GgufValue> GgufValueReader::ReadNumber(std::string_view where) {
  Wire value;
  if (!cursor_.Read(&value)) return source_.Truncated(fmt::format("the value of {}", where));
  return GgufValue(static_cast<Wide>(value));
}

Result<GgufValue> GgufValueReader::Read(std::string_view where) {
  uint32_t type;
  if (!cursor_.Read(&type)) return source_.Truncated(fmt::format("the type of {}", where));
  switch (static_cast<ValueType>(type)) {
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
      if (!cursor_.ReadString(&text)) {
        return source_.Truncated(fmt::format("the text of {}", where));
      }
      return GgufValue(std::string(text));
    }
    case ValueType::kArray:
      return ReadArray(where);
  }
  return source_.Bad(fmt::format("{}: unknown value type {} (0 to 12 are known)", where, type));
}

Result<bool> GgufValueReader::ReadBool(std::string_view where) {
  uint8_t byte;
  if (!cursor_.Read(&byte)) return source_.Truncated(fmt::format("the value of {}", where));
  if (byte > 1) return source_.Bad(fmt::format("{}: a bool is 0 or 1, not {}", where, byte));
  return byte == 1;
}

Status GgufValueReader::CheckCount(uint64_t count, uint64_t bytes_each, std::string_view where) {
  if (!cursor_.CanHold(count, bytes_each)) return source_.TooMany(where, count, "array elements");
  elements_ += count;  // both below 2^61: CanHold
  if (elements_ > gguf::kMaxArrayElements) {
    return source_.Unsupported(
        fmt::format("{}: with its {} array elements the file has more than {}, the most that "
                    "Hunch reads",
                    where, count, gguf::kMaxArrayElements));
  }
  return Ok{};
}

template <typename Wire, typename Wide>
Result<GgufValue> GgufValueReader::ReadNumbers(uint64_t count, std::string_view where) {
  HUNCH_RETURN_IF_ERROR(CheckCount(count, sizeof(Wire), where));
  std::vector<Wide> values(count);
  for (Wide& value : values) {
    Wire wire;
    if (!cursor_.Read(&wire)) return source_.Truncated(fmt::format("the array of {}", where));
    value = static_cast<Wide>(wire);
  }
  return GgufValue(std::move(values));
}

Result<GgufValue> GgufValueReader::ReadBools(uint64_t count, std::string_view where) {
  HUNCH_RETURN_IF_ERROR(CheckCount(count, 1, where));
  std::vector<bool> values(count);
  for (uint64_t i = 0; i < count; ++i) {
    HUNCH_ASSIGN_OR_RETURN(values[i], ReadBool(where));
  }
  return GgufValue(std::move(values));
}

Result<GgufValue> GgufValueReader::ReadStrings(uint64_t count, std::string_view where) {
  HUNCH_RETURN_IF_ERROR(CheckCount(count, kMinStringBytes, where));
  std::vector<std::string> values(count);
  for (uint64_t i = 0; i < count; ++i) {
    std::string_view text;
    if (!cursor_.ReadString(&text)) {
      return source_.Truncated(fmt::format("string {} of {} of {}", i + 1, count, where));
    }
    values[i] = text;
  }
  return GgufValue(std::move(values));
}

Result<GgufValue> GgufValueReader::ReadArray(std::string_view where) {
  uint32_t type;
  uint64_t count;
  if (!cursor_.Read(&type) || !cursor_.Read(&count)) {
    return source_.Truncated(fmt::format("the array header of {}", where));
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
      return source_.Unsupported(fmt::format("{}: an array of arrays; no model needs one", where));
  }
  return source_.Bad(
      fmt::format("{}: unknown array element type {} (0 to 12 are known)", where, type));
}

}  // namespace hunch

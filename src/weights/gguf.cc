// GgufFile: opening, and typed look-ups. The parsing itself is in gguf_parse.cc.
#include "weights/gguf.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "weights/gguf_parse.h"
#include "weights/gguf_source.h"
#include "weights/mapped_file.h"

namespace hunch {
namespace {

std::string_view DescribeType(const GgufValue& value) {
  static constexpr std::string_view kNames[] = {"an unsigned integer",
                                                "an integer",
                                                "a float",
                                                "a bool",
                                                "a string",
                                                "an array of unsigned integers",
                                                "an array of integers",
                                                "an array of floats",
                                                "an array of bools",
                                                "an array of strings"};
  static_assert(std::size(kNames) == std::variant_size_v<GgufValue>);
  return kNames[value.index()];
}

constexpr uint64_t kMaxInt64 = std::numeric_limits<int64_t>::max();

}  // namespace

// The one kind of GgufFile. With a mapping it owns the bytes, without one the caller does.
class ParsedGgufFile final : public GgufFile {
 public:
  static Result<std::unique_ptr<GgufFile>> Make(std::span<const std::byte> bytes, std::string name,
                                                std::optional<MappedFile> mapping) {
    HUNCH_ASSIGN_OR_RETURN(GgufContents contents, ParseGguf(bytes, name));
    auto file = std::make_unique<ParsedGgufFile>();
    file->name_ = std::move(name);
    file->file_bytes_ = bytes.size();
    file->metadata_ = std::move(contents.metadata);
    file->tensors_ = std::move(contents.tensors);
    file->tensor_index_ = std::move(contents.tensor_index);
    file->mapping_ = std::move(mapping);
    return std::unique_ptr<GgufFile>(std::move(file));
  }

  void DropPages() const override {
    if (mapping_.has_value()) mapping_->DropPages();
  }

 private:
  std::optional<MappedFile> mapping_;
};

int64_t GgufTensor::elements() const {
  int64_t product = 1;  // the parser knows that it fits
  for (int64_t dim : shape) product *= dim;
  return product;
}

Result<std::unique_ptr<GgufFile>> GgufFile::Open(const std::string& path) {
  HUNCH_ASSIGN_OR_RETURN(MappedFile mapping, MappedFile::Open(path));
  const std::span<const std::byte> bytes = mapping.bytes();
  return ParsedGgufFile::Make(bytes, path, std::move(mapping));
}

Result<std::unique_ptr<GgufFile>> GgufFile::Parse(std::span<const std::byte> bytes,
                                                  std::string name) {
  return ParsedGgufFile::Make(bytes, std::move(name), std::nullopt);
}

const GgufTensor* GgufFile::FindTensor(std::string_view name) const {
  const auto found = tensor_index_.find(name);
  return found == tensor_index_.end() ? nullptr : &tensors_[found->second];
}

const GgufValue* GgufFile::FindValue(std::string_view key) const {
  const auto found = metadata_.find(key);
  return found == metadata_.end() ? nullptr : &found->second;
}

Error GgufFile::Missing(std::string_view key) const {
  return {ErrorCode::kBadFile, fmt::format("{}: the key {} is missing", name_, Quote(key))};
}

Error GgufFile::WrongType(std::string_view key, std::string_view wanted) const {
  return {ErrorCode::kBadFile, fmt::format("{}: the key {} is {}, not {}", name_, Quote(key),
                                           DescribeType(*FindValue(key)), wanted)};
}

Result<int64_t> GgufFile::GetInt(std::string_view key) const {
  const GgufValue* value = FindValue(key);
  if (value == nullptr) return Missing(key);
  if (const auto* plain = std::get_if<int64_t>(value)) return *plain;
  const auto* wide = std::get_if<uint64_t>(value);
  if (wide == nullptr) return WrongType(key, "an integer");
  if (*wide > kMaxInt64) {
    return Error{ErrorCode::kBadFile, fmt::format("{}: the key {} is {}, which is out of any range",
                                                  name_, Quote(key), *wide)};
  }
  return static_cast<int64_t>(*wide);
}

Result<int64_t> GgufFile::GetIntOr(std::string_view key, int64_t fallback) const {
  if (FindValue(key) == nullptr) return fallback;
  return GetInt(key);
}

Result<double> GgufFile::GetFloat(std::string_view key) const {
  const GgufValue* value = FindValue(key);
  if (value == nullptr) return Missing(key);
  const auto* number = std::get_if<double>(value);
  if (number == nullptr) return WrongType(key, "a float");
  if (!std::isfinite(*number)) {
    return Error{ErrorCode::kBadFile, fmt::format("{}: the key {} is {}, not a finite number",
                                                  name_, Quote(key), *number)};
  }
  return *number;
}

Result<double> GgufFile::GetFloatOr(std::string_view key, double fallback) const {
  if (FindValue(key) == nullptr) return fallback;
  return GetFloat(key);
}

Result<bool> GgufFile::GetBoolOr(std::string_view key, bool fallback) const {
  const GgufValue* value = FindValue(key);
  if (value == nullptr) return fallback;
  const auto* flag = std::get_if<bool>(value);
  if (flag == nullptr) return WrongType(key, "a bool");
  return *flag;
}

Result<std::string> GgufFile::GetString(std::string_view key) const {
  const GgufValue* value = FindValue(key);
  if (value == nullptr) return Missing(key);
  const auto* text = std::get_if<std::string>(value);
  if (text == nullptr) return WrongType(key, "a string");
  return *text;
}

Result<std::string> GgufFile::GetStringOr(std::string_view key, std::string fallback) const {
  if (FindValue(key) == nullptr) return fallback;
  return GetString(key);
}

Result<const std::vector<std::string>*> GgufFile::GetStrings(std::string_view key) const {
  const GgufValue* value = FindValue(key);
  if (value == nullptr) return Missing(key);
  const auto* strings = std::get_if<std::vector<std::string>>(value);
  if (strings == nullptr) return WrongType(key, "an array of strings");
  return strings;
}

Result<std::vector<int64_t>> GgufFile::GetInts(std::string_view key) const {
  const GgufValue* value = FindValue(key);
  if (value == nullptr) return Missing(key);
  if (const auto* plain = std::get_if<std::vector<int64_t>>(value)) return *plain;
  const auto* wide = std::get_if<std::vector<uint64_t>>(value);
  if (wide == nullptr) return WrongType(key, "an array of integers");
  std::vector<int64_t> ints;
  ints.reserve(wide->size());
  for (uint64_t number : *wide) {
    if (number > kMaxInt64) {
      return Error{ErrorCode::kBadFile,
                   fmt::format("{}: element {} of the key {} is {}, which is out of any range",
                               name_, ints.size(), Quote(key), number)};
    }
    ints.push_back(static_cast<int64_t>(number));
  }
  return ints;
}

}  // namespace hunch

#include "convert/safetensors.h"

#include <fmt/format.h>

#include <algorithm>

#include "session/json_text.h"
#include "weights/byte_cursor.h"

namespace hunch {
namespace {

// A head has tens of tensors of about a hundred bytes here. Parsed JSON takes many times its text.
constexpr uint64_t kMostTableBytes = 1 << 20;

Result<std::vector<int64_t>> ReadList(const Json& entry, const char* key, size_t most) {
  const Error wrong = {ErrorCode::kBadFile, fmt::format("{} is no list of whole numbers", key)};
  const auto found = entry.find(key);
  if (found == entry.end() || !found->is_array() || found->size() > most) return wrong;
  std::vector<int64_t> numbers;
  for (const Json& number : *found) {
    if (!number.is_number_unsigned() || number.get<uint64_t>() > uint64_t{1} << 62) return wrong;
    numbers.push_back(number.get<int64_t>());
  }
  return numbers;
}

Result<NamedTensor> ReadTensor(const Json& entry, std::span<const std::byte> data) {
  if (!entry.is_object()) return Error{ErrorCode::kBadFile, "it is no object"};
  NamedTensor tensor;
  const auto dtype = entry.find("dtype");
  const bool has_type = dtype != entry.end() && dtype->is_string();
  const auto traits =
      std::find_if(NumberTypes().begin(), NumberTypes().end(), [&](const NumberTraits& known) {
        return has_type && known.safetensors == dtype->get_ref<const std::string&>();
      });
  if (traits == NumberTypes().end()) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("dtype {} is none that Hunch reads",
                             dtype == entry.end() ? "(absent)" : DumpJson(*dtype).substr(0, 40))};
  }
  tensor.type = traits->type;
  HUNCH_ASSIGN_OR_RETURN(tensor.shape, ReadList(entry, "shape", 8));
  HUNCH_ASSIGN_OR_RETURN(const std::vector<int64_t> offsets, ReadList(entry, "data_offsets", 2));
  const auto size = static_cast<int64_t>(data.size());
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > size) {
    return Error{ErrorCode::kBadFile,
                 fmt::format("data_offsets do not lie in the {} bytes of the file's data", size)};
  }
  const int64_t bytes = offsets[1] - offsets[0];
  if (CheckedBytes(tensor.type, tensor.shape) != bytes) {
    return Error{ErrorCode::kBadFile,
                 fmt::format("data_offsets enclose {} bytes, which is not what its shape and dtype "
                             "need",
                             bytes)};
  }
  tensor.data = data.subspan(static_cast<size_t>(offsets[0]), static_cast<size_t>(bytes));
  return tensor;
}

}  // namespace

Result<NamedTensors> ParseSafetensors(std::span<const std::byte> bytes, std::string_view name) {
  const auto bad = [&](std::string_view what) {
    return Error{ErrorCode::kBadFile, fmt::format("{}: {}", name, what)};
  };
  ByteCursor cursor(bytes);
  uint64_t length = 0;
  std::span<const std::byte> text;
  if (!cursor.Read(&length) || length > kMostTableBytes || !cursor.ReadBytes(length, &text)) {
    return bad(
        "it begins neither as a zip file nor with the length of a table of tensors; it is cut "
        "short, or no safetensors file");
  }
  const auto table =
      ParseJsonObject({reinterpret_cast<const char*>(text.data()), static_cast<size_t>(length)});
  if (!table.ok()) return bad("its table: " + table.error().message);
  NamedTensors tensors;
  for (const auto& [key, entry] : table->items()) {
    if (key == "__metadata__") continue;
    auto tensor = ReadTensor(entry, bytes.subspan(cursor.position()));
    if (!tensor.ok()) {
      return Error{tensor.error().code,
                   fmt::format("{}: tensor {}: {}", name, key, tensor.error().message)};
    }
    tensors.emplace(key, std::move(tensor).value());
  }
  return tensors;
}

}  // namespace hunch

#include "convert/torch_zip.h"

#include <fmt/format.h>

#include <string>

#include "convert/stored_zip.h"
#include "convert/tensor_pickle.h"

namespace hunch {
namespace {

constexpr std::string_view kPickle = "/data.pkl";

// All entries lie in one folder, whose name is anything. "": there is none with a pickle in it.
std::string FolderOf(const ZipEntries& entries) {
  for (const auto& [entry, data] : entries) {
    if (entry.ends_with(kPickle)) return entry.substr(0, entry.size() - kPickle.size());
  }
  return "";
}

}  // namespace

Result<NamedTensors> ParseTorchZip(std::span<const std::byte> bytes, std::string_view name) {
  const auto bad = [&](std::string_view what) {
    return Error{ErrorCode::kBadFile, fmt::format("{}: {}", name, what)};
  };
  HUNCH_ASSIGN_OR_RETURN(const ZipEntries entries, ParseStoredZip(bytes, name));
  const std::string folder = FolderOf(entries);
  const auto pickle = entries.find(folder + std::string(kPickle));
  if (pickle == entries.end()) return bad("a zip archive without data.pkl: torch did not write it");
  if (const auto order = entries.find(folder + "/byteorder"); order != entries.end()) {
    const auto* const text = reinterpret_cast<const char*>(order->second.data());
    if (std::string_view(text, order->second.size()) != "little") {
      return bad("its numbers are not little-endian; save it again on such a machine");
    }
  }
  HUNCH_ASSIGN_OR_RETURN(const auto pickled, ReadTensorPickle(pickle->second, name));
  NamedTensors tensors;
  for (const PickledTensor& tensor : pickled) {
    const auto storage = entries.find(fmt::format("{}/data/{}", folder, tensor.storage));
    const auto size = static_cast<uint64_t>(TraitsOf(tensor.type).bytes);
    // Elements of what lies in the file, so no product of its size with theirs.
    if (storage == entries.end() || storage->second.size() % size != 0 ||
        storage->second.size() / size != static_cast<uint64_t>(tensor.storage_elements)) {
      return bad(fmt::format("tensor {}: its storage {} is missing or of another size", tensor.name,
                             tensor.storage));
    }
    // The pickle keeps it inside of the storage.
    const auto bytes_of = static_cast<size_t>(CheckedBytes(tensor.type, tensor.shape).value());
    tensors[tensor.name] = {
        tensor.type, tensor.shape,
        storage->second.subspan(static_cast<size_t>(tensor.offset) * size, bytes_of)};
  }
  return tensors;
}

}  // namespace hunch

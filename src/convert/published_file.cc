#include "convert/published_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "convert/safetensors.h"
#include "convert/stored_zip.h"
#include "convert/torch_zip.h"

namespace hunch {
namespace {

// In the order of preference.
constexpr auto kUsualNames = std::to_array<std::string_view>(
    {"model.safetensors", "pytorch_model.bin", "medusa_lm_head.safetensors", "medusa_lm_head.pt"});

Result<std::string> FindFile(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return path;
  for (const std::string_view name : kUsualNames) {
    const std::string file = fmt::format("{}/{}", path, name);
    if (std::filesystem::exists(file, ignored)) return file;
  }
  return Error{ErrorCode::kNotFound,
               fmt::format("{}: has none of {}; name the head's file of tensors", path,
                           fmt::join(kUsualNames, ", "))};
}

Result<Json> ReadConfig(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return Json::object();
  HUNCH_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path, "configuration"));
  constexpr size_t kMostBytes = 1 << 20;
  if (file.bytes().size() > kMostBytes) {
    return Error{
        ErrorCode::kBadFile,
        fmt::format("{}: {} bytes; a configuration has a few thousand", path, file.bytes().size())};
  }
  auto config =
      ParseJsonObject({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()});
  if (config.ok()) return config;
  return Error{ErrorCode::kBadFile, fmt::format("{}: {}", path, config.error().message)};
}

}  // namespace

Result<PublishedFile> PublishedFile::Open(const std::string& path) {
  HUNCH_ASSIGN_OR_RETURN(const std::string name, FindFile(path));
  HUNCH_ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::Open(name, "checkpoint"));
  PublishedFile file(name, std::move(mapped));
  const std::span<const std::byte> bytes = file.file_.bytes();
  HUNCH_ASSIGN_OR_RETURN(file.tensors_, BeginsAsZip(bytes) ? ParseTorchZip(bytes, name)
                                                           : ParseSafetensors(bytes, name));
  const std::filesystem::path folder = std::filesystem::path(name).parent_path();
  HUNCH_ASSIGN_OR_RETURN(file.config_, ReadConfig((folder / "config.json").string()));
  return file;
}

}  // namespace hunch

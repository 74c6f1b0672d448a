#include "apps/write_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace hunch {
namespace {

Error CannotWrite(const std::string& path) {
  return {ErrorCode::kIo, fmt::format("cannot write {}: {}", path, std::strerror(errno))};
}

}  // namespace

Status CheckWritable(const std::string& path) {
  std::error_code ignored;
  // Not exists(): a link whose target is missing is there too.
  const bool existed = std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
  errno = 0;
  if (!std::ofstream(path, std::ios::app)) return CannotWrite(path);
  if (!existed) std::filesystem::remove(path, ignored);
  return Ok{};
}

Status WriteFile(const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return CannotWrite(path);
  return Ok{};
}

}  // namespace hunch

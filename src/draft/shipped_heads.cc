#include "draft/shipped_heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/log.h"
#include "base/one_line.h"

namespace hunch {
namespace {

void Warn(std::string_view what, std::string_view why) {
  LogWarning(OneLine(fmt::format("{}: {}", what, why)));
}

// In the order of their names.
std::vector<std::string> FilesOf(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (entry->path().extension() == ".gguf") paths.push_back(entry->path().string());
  }
  if (error) Warn("no heads are found in " + folder, error.message());
  std::sort(paths.begin(), paths.end());
  return paths;
}

Result<HeadConfig> ReadConfig(const std::string& path) {
  HUNCH_ASSIGN_OR_RETURN(const auto file, GgufFile::Open(path));
  return ReadHeadConfig(*file);
}

}  // namespace

std::optional<std::string> FindShippedHead(const std::string& folder, const HeadTarget& target,
                                           std::optional<HeadKind> kind) {
  if (folder.empty()) return std::nullopt;
  std::optional<std::string> best;
  HeadKind best_kind = HeadKind::kMedusa;
  for (const std::string& path : FilesOf(folder)) {
    const Result<HeadConfig> head = ReadConfig(path);
    if (!head.ok()) {
      Warn("not used as a head", head.error().message);
      continue;
    }
    if (kind && head->kind != *kind) continue;
    if (best && head->kind >= best_kind) continue;  // they are declared in order of preference
    if (!CheckHeadTarget(*head, path, target, "").ok()) continue;
    best = path;
    best_kind = head->kind;
  }
  return best;
}

}  // namespace hunch

#include "support/models.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/check.h"

namespace hunch {
namespace {

namespace fs = std::filesystem;

// The same names and file names as scripts/fetch_model; the ctest `style` checks that they agree.
constexpr struct {
  std::string_view name;
  std::string_view file;
} kModels[] = {
    {"smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"},
    {"qwen2.5-coder-0.5b", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"},
    {"qwen2.5-coder-1.5b", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"},
};

// An empty variable counts as unset, as the XDG rules say.
std::optional<fs::path> PathFromEnvironment(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return fs::path(value);
}

std::optional<fs::path> ModelsFolder() {
  if (auto folder = PathFromEnvironment("HUNCH_MODELS_DIR")) return folder;
  if (auto cache = PathFromEnvironment("XDG_CACHE_HOME")) return *cache / "hunch/models";
  if (auto home = PathFromEnvironment("HOME")) return *home / ".cache/hunch/models";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> ModelPath(std::string_view name) {
  for (const auto& model : kModels) {
    if (model.name != name) continue;
    const std::optional<fs::path> folder = ModelsFolder();
    if (!folder) return std::nullopt;
    const fs::path path = *folder / model.file;
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return std::nullopt;
    return path.string();
  }
  HUNCH_CHECK(false) << "unknown test model " << name;
  return std::nullopt;
}

}  // namespace hunch

#include "weights/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/fnv.h"

namespace hunch {

// The beginning of every tensor: to read all of them would take as long as loading the model.
uint64_t FingerprintOf(const GgufFile& file) {
  constexpr size_t kLooked = 4096;
  const auto architecture = file.GetStringOr("general.architecture", "");
  uint64_t hash = Fnv64(
      fmt::format("{} {}", architecture.ok() ? *architecture : std::string(), file.file_bytes()));
  for (const GgufTensor& tensor : file.tensors()) {
    const auto begin = tensor.data.first(std::min(kLooked, tensor.data.size()));
    hash = Fnv64(tensor.name, hash);
    hash = Fnv64({reinterpret_cast<const char*>(begin.data()), begin.size()}, hash);
  }
  return hash;
}

}  // namespace hunch

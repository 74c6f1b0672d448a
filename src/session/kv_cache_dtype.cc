// Names of the cache types (llm.h).
#include <fmt/format.h>

#include <array>

#include "session/llm.h"

namespace hunch {
namespace {

struct NamedType {
  KvType type;
  std::string_view name;
};
constexpr std::array<NamedType, 3> kTypes = {
    {{KvType::kF32, "f32"}, {KvType::kF16, "f16"}, {KvType::kQ8_0, "q8_0"}}};

}  // namespace

Result<KvType> ParseKvCacheDtype(std::string_view name) {
  if (name == "auto") return KvType::kF16;
  for (const NamedType& named : kTypes) {
    if (named.name == name) return named.type;
  }
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("unknown type '{}'; use auto, f16, q8_0 or f32", name)};
}

std::string_view KvCacheDtypeName(KvType type) {
  for (const NamedType& named : kTypes) {
    if (named.type == type) return named.name;
  }
  return "?";
}

}  // namespace hunch

// FNV-1a, 64 bits: names bytes in files that outlive a run, so it may never change. No protection
// against who chooses the bytes. Pure function.
#ifndef HUNCH_BASE_FNV_H_
#define HUNCH_BASE_FNV_H_

#include <cstdint>
#include <string_view>

namespace hunch {

inline constexpr uint64_t kFnvStart = 0xcbf29ce484222325;

// Of what was hashed to `hash` with `bytes` after it.
inline uint64_t Fnv64(std::string_view bytes, uint64_t hash = kFnvStart) {
  for (const char byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  return hash;
}

}  // namespace hunch

#endif  // HUNCH_BASE_FNV_H_

#include "weights/gguf_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "weights/gguf_format.h"

namespace hunch {

GgufSource::GgufSource(std::span<const std::byte> bytes, std::string_view name)
    : bytes_(bytes),
      name_(name),
      cursor_(bytes.first(std::min<uint64_t>(bytes.size(), gguf::kMaxHeaderBytes))) {}

Error GgufSource::Bad(std::string_view what) const {
  return {ErrorCode::kBadFile, fmt::format("{}: {}", name_, what)};
}

Error GgufSource::Unsupported(std::string_view what) const {
  return {ErrorCode::kUnsupported, fmt::format("{}: {}", name_, what)};
}

Error GgufSource::Truncated(std::string_view what) const {
  if (bytes_.size() > gguf::kMaxHeaderBytes) {
    return Bad(
        fmt::format("{} (at byte {}) reaches past {} MiB, the most that Hunch reads of a header",
                    what, cursor_.position(), gguf::kMaxHeaderBytes >> 20));
  }
  return Bad(
      fmt::format("the file ends (at byte {}) inside {}, which starts at byte {}; it is cut short "
                  "or damaged: fetch it again",
                  bytes_.size(), what, cursor_.position()));
}

Error GgufSource::TooMany(std::string_view where, uint64_t count, std::string_view things) const {
  return Bad(
      fmt::format("{}: {} {} cannot fit into the {} bytes that follow; the file is cut short or "
                  "damaged: fetch it again",
                  where, count, things, cursor_.left()));
}

}  // namespace hunch

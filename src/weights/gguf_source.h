// GgufSource: the bytes of a GGUF file being parsed, how far the parser is, and the errors it can
// give. Not thread safe.
#ifndef HUNCH_WEIGHTS_GGUF_SOURCE_H_
#define HUNCH_WEIGHTS_GGUF_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "weights/byte_cursor.h"

namespace hunch {

class GgufSource {
 public:
  // Both must outlive the source.
  GgufSource(std::span<const std::byte> bytes, std::string_view name);

  std::span<const std::byte> bytes() const { return bytes_; }
  // Over the part of the file that may be header.
  ByteCursor& cursor() { return cursor_; }

  Error Bad(std::string_view what) const;
  Error Unsupported(std::string_view what) const;
  // The cursor could not read `what`.
  Error Truncated(std::string_view what) const;
  // `count` `things` are more than the bytes that are left can hold.
  Error TooMany(std::string_view where, uint64_t count, std::string_view things) const;

 private:
  const std::span<const std::byte> bytes_;
  const std::string_view name_;
  ByteCursor cursor_;
};

}  // namespace hunch

#endif  // HUNCH_WEIGHTS_GGUF_SOURCE_H_

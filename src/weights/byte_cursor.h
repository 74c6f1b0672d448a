// ByteCursor: reads a byte span from front to back and never past its end. Not thread safe.
#ifndef HUNCH_WEIGHTS_BYTE_CURSOR_H_
#define HUNCH_WEIGHTS_BYTE_CURSOR_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace hunch {

class ByteCursor {
 public:
  explicit ByteCursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  uint64_t position() const { return position_; }
  uint64_t left() const { return bytes_.size() - position_; }
  // Whether `count` things of `bytes_each` (not 0) could still follow. No product, so nothing
  // wraps.
  bool CanHold(uint64_t count, uint64_t bytes_each) const { return count <= left() / bytes_each; }

  // Every Read leaves the cursor where it was when it returns false.
  template <typename T>
  [[nodiscard]] bool Read(T* out) {
    static_assert(std::is_arithmetic_v<T>);
    if (left() < sizeof(T)) return false;
    std::memcpy(out, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return true;
  }

  // A view into the span.
  [[nodiscard]] bool ReadBytes(uint64_t count, std::span<const std::byte>* out) {
    if (left() < count) return false;
    *out = bytes_.subspan(position_, count);
    position_ += count;
    return true;
  }

  // A length (u64) and that many bytes, as a view into the span.
  [[nodiscard]] bool ReadString(std::string_view* out) {
    const uint64_t start = position_;
    uint64_t length;
    std::span<const std::byte> bytes;
    if (Read(&length) && ReadBytes(length, &bytes)) {
      *out = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
      return true;
    }
    position_ = start;
    return false;
  }

 private:
  std::span<const std::byte> bytes_;
  uint64_t position_ = 0;
};

}  // namespace hunch

#endif  // HUNCH_WEIGHTS_BYTE_CURSOR_H_

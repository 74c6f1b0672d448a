// AlignedBuffer: zero-filled memory aligned to a cache line; from 2 MiB on, aligned to 2 MiB and
// given to transparent huge pages (weights and KV: one TLB entry per 2 MiB). Move-only. Not thread
// safe by itself.
#ifndef HUNCH_BASE_ALIGNED_BUFFER_H_
#define HUNCH_BASE_ALIGNED_BUFFER_H_

#include <cstddef>
#include <span>
#include <utility>

#include "base/result.h"

namespace hunch {

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // Fails with kResourceExhausted when the system has no such memory. Size 0 is allowed.
  static Result<AlignedBuffer> Create(size_t bytes);
  AlignedBuffer(AlignedBuffer&& other) noexcept { *this = std::move(other); }
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~AlignedBuffer();

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(data_);
  }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(data_);
  }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace hunch

#endif  // HUNCH_BASE_ALIGNED_BUFFER_H_

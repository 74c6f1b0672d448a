#include "base/aligned_buffer.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstdint>

namespace hunch {

Result<AlignedBuffer> AlignedBuffer::Create(size_t bytes) {
  AlignedBuffer buffer;
  if (bytes == 0) return buffer;
  // A huge page begins at a multiple of its size, which mmap does not promise.
  constexpr size_t kHugePage = 2u << 20;
  const size_t spare = bytes >= kHugePage ? kHugePage : 0;
  void* memory = MAP_FAILED;
  if (bytes <= SIZE_MAX - spare) {
    memory =
        mmap(nullptr, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  if (memory == MAP_FAILED) {
    return Error{ErrorCode::kResourceExhausted,
                 fmt::format("the system has no {:.1f} MB of memory left", bytes / 1e6)};
  }
  buffer.data_ = static_cast<std::byte*>(memory);
  buffer.size_ = bytes;
  if (spare > 0) {
    const size_t head = -reinterpret_cast<uintptr_t>(memory) % kHugePage;
    buffer.data_ += head;
    constexpr size_t kPage = 4096;
    const size_t tail = (bytes + kPage - 1) / kPage * kPage;
    if (head > 0) munmap(memory, head);
    if (head + tail < bytes + spare) munmap(buffer.data_ + tail, bytes + spare - head - tail);
    madvise(buffer.data_, bytes, MADV_HUGEPAGE);  // a hint: failure costs speed only
  }
  return buffer;
}

AlignedBuffer::~AlignedBuffer() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace hunch

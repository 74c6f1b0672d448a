#include "base/aligned_buffer.h"

#include <fmt/format.h>
#include <sys/mman.h>

namespace hunch {

Result<AlignedBuffer> AlignedBuffer::Create(size_t bytes) {
  AlignedBuffer buffer;
  if (bytes == 0) return buffer;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return Error{ErrorCode::kResourceExhausted,
                 fmt::format("the system has no {:.1f} MB of memory left", bytes / 1e6)};
  }
  constexpr size_t kHugePage = 2u << 20;
  if (bytes >= kHugePage)
    madvise(memory, bytes, MADV_HUGEPAGE);  // a hint: failure costs speed only
  buffer.data_ = static_cast<std::byte*>(memory);
  buffer.size_ = bytes;
  return buffer;
}

AlignedBuffer::~AlignedBuffer() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace hunch

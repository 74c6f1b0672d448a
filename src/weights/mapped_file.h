// MappedFile: a whole regular file, mapped read-only and private. Move-only; reading is thread
// safe.
#ifndef HUNCH_WEIGHTS_MAPPED_FILE_H_
#define HUNCH_WEIGHTS_MAPPED_FILE_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace hunch {

class MappedFile {
 public:
  // A missing, unreadable, empty or not regular file (directory, FIFO, device) is an error; no call
  // here waits for a FIFO's other end. `what` is what messages call it.
  static Result<MappedFile> Open(const std::string& path, std::string_view what = "model file");
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }
  // Takes the pages out of this process; the next access reads them again (from the page cache).
  void DropPages() const;

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

}  // namespace hunch

#endif  // HUNCH_WEIGHTS_MAPPED_FILE_H_

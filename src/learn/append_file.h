// AppendFile: a file that grows by whole records while a run goes on, so that a run that was killed
// can go on where it was. What a kill left of a record is for the owner to find and Cut. Locked:
// a second process that opens it is refused. Move-only; not thread safe.
#ifndef HUNCH_LEARN_APPEND_FILE_H_
#define HUNCH_LEARN_APPEND_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace hunch {

class AppendFile {
 public:
  // Made if it is not there. `what` is what messages call it.
  static Result<AppendFile> Open(const std::string& path, std::string_view what);
  AppendFile(AppendFile&& other) noexcept
      : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}
  AppendFile& operator=(AppendFile&&) = delete;
  ~AppendFile();

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  // out.size() bytes from `offset`, all below size().
  Status Read(uint64_t offset, std::span<std::byte> out) const;
  // Adds all of them, or takes back what it added.
  Status Append(std::span<const std::byte> bytes);
  // Forgets what lies after the first `size` bytes.
  Status Cut(uint64_t size);

 private:
  AppendFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  Error Failed(std::string_view what) const;

  std::string path_;
  int fd_;
  uint64_t size_ = 0;
};

}  // namespace hunch

#endif  // HUNCH_LEARN_APPEND_FILE_H_

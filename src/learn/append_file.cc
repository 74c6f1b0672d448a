#include "learn/append_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hunch {

Error AppendFile::Failed(std::string_view what) const {
  return {ErrorCode::kIo, fmt::format("cannot {} {}: {}", what, path_, std::strerror(errno))};
}

Result<AppendFile> AppendFile::Open(const std::string& path, std::string_view what) {
  AppendFile file(path, open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600));
  if (file.fd_ < 0) return file.Failed("write");
  struct stat status = {};
  if (fstat(file.fd_, &status) != 0) return file.Failed("read");
  if (!S_ISREG(status.st_mode)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: is no regular file, and a {} is kept in one", path, what)};
  }
  // Some network file systems know no locks.
  if (flock(file.fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: another process is writing this {}", path, what)};
  }
  file.size_ = static_cast<uint64_t>(status.st_size);
  return file;
}

AppendFile::~AppendFile() {
  if (fd_ >= 0) close(fd_);
}

Status AppendFile::Read(uint64_t offset, std::span<std::byte> out) const {
  HUNCH_CHECK_LE(offset + out.size(), size_);
  while (!out.empty()) {
    const ssize_t got = pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed("read");
    if (got == 0) {
      return Error{ErrorCode::kIo, fmt::format("{}: somebody cut it short meanwhile", path_)};
    }
    out = out.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  return Ok{};
}

Status AppendFile::Append(std::span<const std::byte> bytes) {
  uint64_t at = size_;
  while (!bytes.empty()) {
    const ssize_t put = pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      const Error error = Failed("write");
      const Status cut = Cut(size_);  // a full disk: what went wrong first is what is told
      return error;
    }
    bytes = bytes.subspan(static_cast<size_t>(put));
    at += static_cast<uint64_t>(put);
  }
  size_ = at;
  return Ok{};
}

Status AppendFile::Cut(uint64_t size) {
  if (ftruncate(fd_, static_cast<off_t>(size)) != 0) return Failed("cut");
  size_ = size;
  return Ok{};
}

}  // namespace hunch

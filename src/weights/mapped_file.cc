#include "weights/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hunch {
namespace {

// Closes at the end of the scope: a mapping outlives its descriptor.
struct Descriptor {
  explicit Descriptor(int fd_in) : fd(fd_in) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
  int fd;
};

Error SystemError(const std::string& path, std::string_view what, int error) {
  ErrorCode code = ErrorCode::kInvalidArgument;  // a path that is wrong in itself
  if (error == ENOENT || error == ENOTDIR) code = ErrorCode::kNotFound;
  if (error == EIO || error == EINTR) code = ErrorCode::kIo;
  if (error == ENOMEM || error == EMFILE || error == ENFILE) code = ErrorCode::kResourceExhausted;
  return {code, fmt::format("{}: {}: {}", path, what, std::strerror(error))};
}

}  // namespace

Result<MappedFile> MappedFile::Open(const std::string& path, std::string_view what) {
  // O_NONBLOCK: opening a FIFO that nobody writes to would wait forever.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.fd < 0) return SystemError(path, fmt::format("cannot open the {}", what), errno);
  struct stat status;
  if (fstat(file.fd, &status) != 0)
    return SystemError(path, fmt::format("cannot stat the {}", what), errno);
  if (S_ISDIR(status.st_mode)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: a directory; name the {} in it", path, what)};
  }
  if (!S_ISREG(status.st_mode)) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("{}: not a regular file (a pipe or a device); save the {} to a regular file",
                    path, what)};
  }
  if (status.st_size == 0) {
    return Error{ErrorCode::kBadFile, fmt::format("{}: the file is empty; fetch it again", path)};
  }
  const auto size = static_cast<size_t>(status.st_size);
  void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (address == MAP_FAILED)
    return SystemError(path, fmt::format("cannot map the {}", what), errno);
  return MappedFile({static_cast<const std::byte*>(address), size});
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::DropPages() const {
  // Private and never written, so nothing is lost. Failure would only keep memory; nothing to
  // report.
  madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), MADV_DONTNEED);
}

}  // namespace hunch

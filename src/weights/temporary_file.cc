#include "weights/temporary_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace hunch {
namespace {

constexpr int kAttempts = 100;

// The rename itself has to reach the disk too. Not every file system can do it; nothing to report.
void SyncDirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string directory = slash == path.npos ? "." : path.substr(0, slash + 1);
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

// Where the links of a path lead: a rename would replace the link and not its target.
std::string WithoutLinks(const std::string& path) {
  std::error_code missing;
  const auto real = std::filesystem::canonical(path, missing);
  return missing ? path : real.string();
}

}  // namespace

TemporaryFile::TemporaryFile(const std::string& final_path)
    : final_path_(WithoutLinks(final_path)) {
  struct stat old;
  const bool replaces = stat(final_path_.c_str(), &old) == 0;
  if (replaces && S_ISDIR(old.st_mode)) error_ = EISDIR;
  // As root, the rename would put a file in the place of /dev/null.
  if (replaces && !S_ISREG(old.st_mode) && error_ == 0) {
    not_regular_ = true;
    error_ = EINVAL;
  }
  if (error_ != 0) return;
  // A process that was killed may have had this number, in a container always, and left its file.
  for (int attempt = 0; fd_ < 0 && attempt < kAttempts; ++attempt) {
    path_ = fmt::format("{}.tmp-{}-{}", final_path_, getpid(), attempt);
    fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0 && errno != EEXIST) break;
  }
  exists_ = fd_ >= 0;
  if (!exists_) error_ = errno;
  // What its owner keeps to himself stays so.
  if (exists_ && replaces && fchmod(fd_, old.st_mode & 07777) != 0) error_ = errno;
}

TemporaryFile::~TemporaryFile() {
  if (fd_ >= 0) close(fd_);
  if (exists_) unlink(path_.c_str());
}

void TemporaryFile::Write(std::span<const std::byte> bytes) {
  while (error_ == 0 && !bytes.empty()) {
    const ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes = bytes.subspan(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
}

void TemporaryFile::MoveIntoPlace() {
  if (error_ == 0 && fsync(fd_) != 0) error_ = errno;
  if (error_ == 0 && close(std::exchange(fd_, -1)) != 0) error_ = errno;
  if (error_ == 0 && rename(path_.c_str(), final_path_.c_str()) != 0) error_ = errno;
  if (error_ != 0) return;
  exists_ = false;
  SyncDirectoryOf(final_path_);
}

Error TemporaryFile::Failure() const {
  if (not_regular_) {
    return {ErrorCode::kInvalidArgument,
            fmt::format("{}: not a regular file (a pipe or a device); name a file to write",
                        final_path_)};
  }
  return {ErrorCode::kIo,
          fmt::format("{}: cannot write this file: {}", final_path_, std::strerror(error_))};
}

}  // namespace hunch

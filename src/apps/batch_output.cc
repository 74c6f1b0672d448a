#include "apps/batch_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "apps/batch_line.h"

namespace hunch {
namespace {

Error Wrong(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

}  // namespace

Error BatchOutput::Failed(std::string_view what) const {
  return {ErrorCode::kIo, fmt::format("cannot {} {}: {}", what, path_, std::strerror(errno))};
}

Result<std::unique_ptr<BatchOutput>> BatchOutput::Open(const std::string& path,
                                                       const BatchInput& input,
                                                       const std::string& fingerprint) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
  if (fd < 0) {
    return Error{ErrorCode::kIo, fmt::format("cannot write {}: {}", path, std::strerror(errno))};
  }
  std::unique_ptr<BatchOutput> output(new BatchOutput(path, fd));
  HUNCH_RETURN_IF_ERROR(output->Lock());
  HUNCH_RETURN_IF_ERROR(output->ReadDone(input, fingerprint));
  HUNCH_RETURN_IF_ERROR(output->CutTornLine());
  return output;
}

BatchOutput::~BatchOutput() { close(fd_); }

Status BatchOutput::Lock() {
  struct stat status = {};
  if (fstat(fd_, &status) != 0) return Failed("read");
  if (!S_ISREG(status.st_mode)) {
    return Wrong(fmt::format("{}: is no regular file, and answers are kept in one", path_));
  }
  // Some network file systems know no locks.
  if (flock(fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return Ok{};
  return Wrong(fmt::format("{}: another hunch batch is writing it", path_));
}

Status BatchOutput::ReadDone(const BatchInput& input, const std::string& fingerprint) {
  std::ifstream file(path_, std::ios::binary);
  std::string text;
  for (int64_t number = 1; std::getline(file, text); ++number) {
    if (file.eof()) {  // and no end of line
      if (MayBeTornLine(text)) break;
      return Wrong(fmt::format("{}:{}: was not written by hunch batch: name another file with -o",
                               path_, number));
    }
    const auto line = ParseDoneLine(text);
    if (!line || !input.Has(line->id)) {
      return Wrong(fmt::format("{}:{}: answers no line of {}: name another file with -o", path_,
                               number, input.path()));
    }
    if (!line->fingerprint.empty() && line->fingerprint != fingerprint) {
      return Wrong(
          fmt::format("{}:{}: comes from another model ({}, and this is {}): name another "
                      "file with -o",
                      path_, number, line->fingerprint, fingerprint));
    }
    done_.insert(line->id);
    size_ += static_cast<int64_t>(text.size()) + 1;
  }
  if (file.bad()) return Failed("read");
  return Ok{};
}

Status BatchOutput::CutTornLine() {
  const off_t end = lseek(fd_, 0, SEEK_END);
  if (end < 0) return Failed("read");
  if (end == size_) return Ok{};
  if (ftruncate(fd_, size_) != 0) return Failed("cut the torn last line of");
  cut_ = true;
  return Ok{};
}

Status BatchOutput::WriteAll(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Failed("write");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  if (fdatasync(fd_) != 0) return Failed("write");
  return Ok{};
}

Status BatchOutput::Append(std::string_view lines) {
  const Status written = WriteAll(lines);
  if (written.ok()) {
    size_ += static_cast<int64_t>(lines.size());
    return Ok{};
  }
  // Should this fail too, the next run cuts it.
  if (ftruncate(fd_, size_) != 0) return written;
  return Error{
      written.error().code,
      fmt::format("{}; what was written before is whole, and the same command goes on from "
                  "there",
                  written.error().message)};
}

}  // namespace hunch

#include "apps/batch_input.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/fnv.h"

namespace hunch {
namespace {

constexpr std::string_view kBlanks = " \t\r\v\f";

void Trim(std::string& text) {
  const size_t end = text.find_last_not_of(kBlanks);
  text.erase(end == std::string::npos ? 0 : end + 1);
  text.erase(0, text.find_first_not_of(kBlanks));
}

Result<std::ifstream> OpenFile(const std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: is no regular file, and a batch is read twice", path)};
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (file) return file;
  return Error{errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalidArgument,
               fmt::format("{}: {}", path, std::strerror(errno))};
}

Error CannotRead(const std::string& path) {
  return {ErrorCode::kIo, fmt::format("{}: cannot be read to its end", path)};
}

}  // namespace

// The next line, of which no more is kept than its first kMostBytes, and how long it is. False at
// the end.
bool BatchLines::ReadRaw(std::string& text, uint64_t& bytes) {
  text.clear();
  bytes = 0;
  using Traits = std::ifstream::traits_type;
  try {
    for (int c = in_.rdbuf()->sbumpc(); c != Traits::eof(); c = in_.rdbuf()->sbumpc()) {
      if (c == '\n') return true;
      if (bytes++ < kMostBytes) text.push_back(Traits::to_char_type(c));
    }
  } catch (const std::ios_base::failure&) {
    failed_ = true;
    return false;
  }
  return bytes > 0;
}

bool BatchLines::Next(BatchLine& line) {
  uint64_t bytes = 0;
  while (ReadRaw(line.text, bytes)) {
    ++number_;
    Trim(line.text);
    if (line.text.empty() && bytes <= kMostBytes) continue;
    line.number = number_;
    line.too_long = bytes > kMostBytes;
    const uint64_t hash = Fnv64(line.text);
    const int64_t before = seen_[hash]++;
    line.id = before == 0 ? hash : Fnv64(fmt::format(" {}", before), hash);
    return true;
  }
  return false;
}

Result<std::unique_ptr<BatchInput>> BatchInput::Open(const std::string& path) {
  HUNCH_ASSIGN_OR_RETURN(std::ifstream first, OpenFile(path));
  HUNCH_ASSIGN_OR_RETURN(std::ifstream second, OpenFile(path));
  std::unique_ptr<BatchInput> input(new BatchInput(path, BatchLines(std::move(second))));
  BatchLines lines(std::move(first));
  BatchLine line;
  while (lines.Next(line)) input->ids_.insert(line.id);
  if (lines.failed()) return CannotRead(path);
  if (input->ids_.empty()) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{}: holds no requests", path)};
  }
  return input;
}

Result<bool> BatchInput::Next(BatchLine& line) {
  if (read_ == size()) return false;
  if (!lines_.Next(line)) {
    if (lines_.failed()) return CannotRead(path_);
    line.id = 0;
  }
  ++read_;
  if (Has(line.id)) return true;
  return Error{
      ErrorCode::kIo,
      fmt::format("{}: changed while it was read: leave it alone until its batch is done", path_)};
}

}  // namespace hunch

#include "apps/read_text.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace hunch {
namespace {

Error TooLong(std::string_view what, size_t most) {
  return {ErrorCode::kInvalidArgument,
          fmt::format("{} has more than {} bytes; cut it into parts", what, most)};
}

Error Unreadable() { return {ErrorCode::kInvalidArgument, "cannot be read to its end"}; }

}  // namespace

Result<std::string> ReadText(std::istream& in, size_t most) {
  std::string text;
  std::array<char, 1 << 16> chunk;
  // read(), not a stream buffer's iterators: it turns a file buffer's exception into a bad stream.
  while (in.read(chunk.data(), chunk.size()) || in.gcount() > 0) {
    text.append(chunk.data(), static_cast<size_t>(in.gcount()));
    if (text.size() > most) return TooLong("the text", most);
  }
  if (in.bad()) return Unreadable();
  return text;
}

Result<bool> ReadLine(std::istream& in, std::string& line, size_t most) {
  line.clear();
  try {
    using Traits = std::istream::traits_type;
    for (int c = in.rdbuf()->sbumpc(); c != Traits::eof(); c = in.rdbuf()->sbumpc()) {
      if (c == '\n') return true;
      if (line.size() == most) return TooLong("the line", most);
      line.push_back(Traits::to_char_type(c));
    }
  } catch (const std::ios_base::failure&) {
    return Unreadable();
  }
  return !line.empty();
}

Result<std::string> ReadTextFile(const std::string& path, size_t most) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{}: is a folder, not a file", path)};
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Error{errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalidArgument,
                 fmt::format("{}: {}", path, std::strerror(errno))};
  }
  Result<std::string> text = ReadText(file, most);
  if (text.ok()) return text;
  return Error{text.error().code, fmt::format("{}: {}", path, text.error().message)};
}

}  // namespace hunch

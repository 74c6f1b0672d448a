// Text from outside, read with a bound: a device or a pipe that never ends must not take the whole
// memory. Not thread safe.
#ifndef HUNCH_APPS_READ_TEXT_H_
#define HUNCH_APPS_READ_TEXT_H_

#include <cstddef>
#include <istream>
#include <string>

#include "base/result.h"

namespace hunch {

// Several times the text that the longest context can hold.
inline constexpr size_t kMaxTextBytes = size_t{64} << 20;

// Everything up to the end. The errors do not name `in`: the caller knows what it is.
Result<std::string> ReadText(std::istream& in, size_t most = kMaxTextBytes);

// The next line, without its '\n'. False at the end.
Result<bool> ReadLine(std::istream& in, std::string& line, size_t most = kMaxTextBytes);

// A regular file, a pipe or a device; the errors begin with the path.
Result<std::string> ReadTextFile(const std::string& path, size_t most = kMaxTextBytes);

}  // namespace hunch

#endif  // HUNCH_APPS_READ_TEXT_H_

// Result files of subcommands. Errors name the path and the reason.
#ifndef HUNCH_APPS_WRITE_FILE_H_
#define HUNCH_APPS_WRITE_FILE_H_

#include <string>

#include "base/result.h"

namespace hunch {

// Before minutes of measuring and not after them. Leaves what is there as it is.
Status CheckWritable(const std::string& path);
Status WriteFile(const std::string& path, const std::string& text);

}  // namespace hunch

#endif  // HUNCH_APPS_WRITE_FILE_H_

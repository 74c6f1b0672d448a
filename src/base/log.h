// Messages to the person who runs Hunch, on stderr, one line each. Never in the step's hot path.
// Thread safe.
#ifndef HUNCH_BASE_LOG_H_
#define HUNCH_BASE_LOG_H_

#include <string_view>

namespace hunch {

void LogWarning(std::string_view message);

}  // namespace hunch

#endif  // HUNCH_BASE_LOG_H_

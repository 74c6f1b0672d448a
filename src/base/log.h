// Messages to the person who runs Hunch, on stderr, one line each. Never in the step's hot path.
// Thread safe.
#ifndef HUNCH_BASE_LOG_H_
#define HUNCH_BASE_LOG_H_

#include <string_view>

namespace hunch {

void LogInfo(std::string_view message);
void LogWarning(std::string_view message);
// `quiet` silences everything below a warning (for --json and tests).
void SetLogQuiet(bool quiet);

}  // namespace hunch

#endif  // HUNCH_BASE_LOG_H_

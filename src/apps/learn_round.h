// A round of training as a process: hunch-train, which makes itself idle. Not thread safe.
#ifndef HUNCH_APPS_LEARN_ROUND_H_
#define HUNCH_APPS_LEARN_ROUND_H_

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "session/learner.h"

namespace hunch {

// In the environment of a round: the process that started it, which it must not outlive.
inline constexpr char kRoundParent[] = "HUNCH_ROUND_PARENT";

// Runs `program` with these arguments, with nothing open but a log that both its outputs go to and
// is begun anew. Errors: it cannot be started.
Result<std::unique_ptr<LearnRound>> StartRound(const std::string& program,
                                               const std::vector<std::string>& arguments,
                                               const std::string& log);

}  // namespace hunch

#endif  // HUNCH_APPS_LEARN_ROUND_H_

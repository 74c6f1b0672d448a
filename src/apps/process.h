// What `hunch` and `hunch-train` have in common: the process's own console and signals, and the
// real models.
#ifndef HUNCH_APPS_PROCESS_H_
#define HUNCH_APPS_PROCESS_H_

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "apps/context.h"

namespace hunch {

// RunProgram on them, writing to the descriptor `out`; what cannot be written is an error, unless
// nobody reads it any more. fill: adds to the context. name: the program's, for messages.
int RunProcess(std::string_view name, std::span<const std::string> arguments, int out,
               const std::function<void(Context&)>& fill);

}  // namespace hunch

#endif  // HUNCH_APPS_PROCESS_H_

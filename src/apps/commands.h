// The subcommands, one file each. Each returns its exit code, or the error that the dispatcher
// prints as one line.
#ifndef HUNCH_APPS_COMMANDS_H_
#define HUNCH_APPS_COMMANDS_H_

#include <span>
#include <string>

#include "apps/context.h"
#include "apps/flags.h"

namespace hunch {

inline constexpr std::string_view kVersion = "0.1.0";  // CMakeLists.txt says the same

Result<int> RunCommand(const Flags& flags, Context& context);
Result<int> ChatCommand(const Flags& flags, Context& context);  // run without a prompt
Result<int> ServeCommand(const Flags& flags, Context& context);
Result<int> BatchCommand(const Flags& flags, Context& context);
Result<int> BenchCommand(const Flags& flags, Context& context);
Result<int> BenchRowsCommand(const Flags& flags, Context& context);
Result<int> NgramBuildCommand(const Flags& flags, Context& context);
Result<int> VocabCountCommand(const Flags& flags, Context& context);
Result<int> TuneCommand(const Flags& flags, Context& context);
Result<int> TrainCommand(const Flags& flags, Context& context);
Result<int> ConvertHeadCommand(const Flags& flags, Context& context);
Result<int> TrainOnServed(const Flags& flags, Context& context);  // train --learn, in hunch-train
Result<int> TokenizeCommand(const Flags& flags, Context& context);
Result<int> DetokenizeCommand(const Flags& flags, Context& context);
Result<int> InspectCommand(const Flags& flags, Context& context);
Result<int> DemoCommand(const Flags& flags, Context& context);

// The whole program: `arguments` without the program's own name. Returns the exit code; an error is
// one line on the console's err.
int RunProgram(std::span<const std::string> arguments, Context& context);

// kExitUsage for what the caller got wrong, kExitFailure for what the machine did.
int ExitCodeOf(const Error& error);

}  // namespace hunch

#endif  // HUNCH_APPS_COMMANDS_H_

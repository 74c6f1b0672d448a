#include "apps/process.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>

#include "apps/commands.h"
#include "apps/fd_output.h"
#include "apps/signals.h"

namespace hunch {

int RunProcess(std::string_view name, std::span<const std::string> arguments, int out,
               const std::function<void(Context&)>& fill) {
  // A reader that leaves makes writes fail instead of killing us between two tokens.
  std::signal(SIGPIPE, SIG_IGN);
  FdOutput buffer(out);
  std::ostream stream(&buffer);
  SignalInterrupts interrupts;
  Context context = {.console = {.in = std::cin,
                                 .out = stream,
                                 .err = std::cerr,
                                 .in_tty = isatty(STDIN_FILENO) == 1,
                                 .out_tty = isatty(out) == 1,
                                 .err_tty = isatty(STDERR_FILENO) == 1},
                     .interrupts = interrupts,
                     .load = &Llm::Load,
                     .inspect = &Inspect,
                     .open_tokenizer = &OpenTokenizer,
                     .bench_rows = &RunRowBench,
                     .demo_prompt = "",
                     .heads = ""};
  fill(context);
  const int code = RunProgram(arguments, context);
  stream.flush();
  if (buffer.error() != 0 && buffer.error() != EPIPE) {
    std::cerr << name << ": cannot write to standard output: " << std::strerror(buffer.error())
              << '\n';
    return kExitFailure;
  }
  return code;
}

}  // namespace hunch

// The program `hunch`: gives RunProgram the real console, signals and models.
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "apps/commands.h"
#include "apps/fd_output.h"
#include "apps/signals.h"

namespace hunch {
namespace {

int Main(std::span<const std::string> arguments) {
  // A reader that leaves makes writes fail instead of killing us between two tokens.
  std::signal(SIGPIPE, SIG_IGN);
  FdOutput out_buffer(STDOUT_FILENO);
  std::ostream out(&out_buffer);
  SignalInterrupts interrupts;
  const char* prompt = std::getenv("HUNCH_PROMPT");
  Context context{.console = {.in = std::cin,
                              .out = out,
                              .err = std::cerr,
                              .in_tty = isatty(STDIN_FILENO) == 1,
                              .out_tty = isatty(STDOUT_FILENO) == 1,
                              .err_tty = isatty(STDERR_FILENO) == 1},
                  .interrupts = interrupts,
                  .load = &Llm::Load,
                  .inspect = &Inspect,
                  .open_tokenizer = &OpenTokenizer,
                  .bench_rows = &RunRowBench,
                  .demo_prompt = prompt == nullptr ? "" : prompt};
  const int code = RunProgram(arguments, context);
  out.flush();
  if (out_buffer.error() != 0 && out_buffer.error() != EPIPE) {
    std::cerr << "hunch: cannot write to standard output: " << std::strerror(out_buffer.error())
              << '\n';
    return kExitFailure;
  }
  return code;
}

}  // namespace
}  // namespace hunch

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return hunch::Main(arguments);
}

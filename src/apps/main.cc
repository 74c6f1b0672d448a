// The program `hunch`: gives RunProgram the real console, signals and models.
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

#include "apps/commands.h"
#include "apps/fd_output.h"
#include "apps/signals.h"

namespace hunch {
namespace {

// Programs find what belongs to them beside themselves.
std::string BesideThisProgram(const std::string& name) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / name).string();
}

// Returns only where there is no hunch-train.
Error BecomeHunchTrain(const std::string& program, std::span<const std::string> arguments) {
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execv(program.c_str(), pointers.data());
  return {ErrorCode::kNotFound, program + ": " + std::strerror(errno) +
                                    "; training is a program of its own: build it with make train"};
}

int Main(std::span<const std::string> arguments) {
  // A reader that leaves makes writes fail instead of killing us between two tokens.
  std::signal(SIGPIPE, SIG_IGN);
  FdOutput out_buffer(STDOUT_FILENO);
  std::ostream out(&out_buffer);
  SignalInterrupts interrupts;
  const char* prompt = std::getenv("HUNCH_PROMPT");
  Context context = RealContext(out, interrupts);
  context.hunch_train = BesideThisProgram("hunch-train");
  context.become_hunch_train = [&] {
    return BecomeHunchTrain(context.hunch_train, arguments.subspan(1));
  };
  if (prompt != nullptr) context.demo_prompt = prompt;
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

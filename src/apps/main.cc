// The program `hunch`.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "apps/process.h"

namespace hunch {
namespace {

// Programs find what belongs to them beside themselves.
std::string BesideThisProgram(const std::string& name) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / name).string();
}

// In a build folder, or where it is installed.
std::string HeadsFolder() {
  if (const char* const named = std::getenv("HUNCH_HEADS")) return named;
  for (const char* const place : {"heads", "../share/hunch/heads"}) {
    const auto folder = std::filesystem::path(BesideThisProgram(place)).lexically_normal();
    std::error_code error;
    if (std::filesystem::is_directory(folder, error)) return folder.string();
  }
  return "";
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
  return RunProcess("hunch", arguments, STDOUT_FILENO, [&](Context& context) {
    context.hunch_train = BesideThisProgram("hunch-train");
    context.become_hunch_train = [&] {
      return BecomeHunchTrain(context.hunch_train, arguments.subspan(1));
    };
    context.heads = HeadsFolder();
    if (const char* const prompt = std::getenv("HUNCH_PROMPT")) context.demo_prompt = prompt;
  });
}

}  // namespace
}  // namespace hunch

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return hunch::Main(arguments);
}

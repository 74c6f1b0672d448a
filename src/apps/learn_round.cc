#include "apps/learn_round.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hunch {
namespace {

class ChildRound : public LearnRound {
 public:
  explicit ChildRound(pid_t pid) : pid_(pid) {}
  ~ChildRound() override {
    if (pid_ < 0) return;
    kill(pid_, SIGKILL);
    Wait(0);
  }
  std::optional<bool> Ended() override {
    if (pid_ >= 0 && !Wait(WNOHANG)) return std::nullopt;
    return well_;
  }

 private:
  bool Wait(int options) {
    int status = 0;
    pid_t got;
    do {
      got = waitpid(pid_, &status, options);
    } while (got < 0 && errno == EINTR);
    if (got == 0) return false;
    well_ = got == pid_ && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    pid_ = -1;
    return true;
  }

  pid_t pid_;  // -1: it is over
  bool well_ = false;
};

// What a child is started with.
struct SpawnSettings {
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

}  // namespace

// Not fork: to copy this process's page tables would stop it for as long as a step takes.
Result<std::unique_ptr<LearnRound>> StartRound(const std::string& program,
                                               const std::vector<std::string>& arguments,
                                               const std::string& log) {
  SpawnSettings settings;
  posix_spawn_file_actions_addopen(&settings.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&settings.actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&settings.actions, STDOUT_FILENO, STDERR_FILENO);
  // A connection that a child held too would not end when the server closes it.
  posix_spawn_file_actions_addclosefrom_np(&settings.actions, STDERR_FILENO + 1);
  // A group of its own: Ctrl-C is the server's, which ends it. And no signal is held back.
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&settings.attributes, &none);
  posix_spawnattr_setflags(&settings.attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::string parent = fmt::format("{}={}", kRoundParent, getpid());
  std::vector<char*> environment = {parent.data()};
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  environment.push_back(nullptr);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, program.c_str(), &settings.actions, &settings.attributes,
                                pointers.data(), environment.data());
  if (error != 0) {
    return Error{ErrorCode::kIo, fmt::format("cannot start {}: {}", program, std::strerror(error))};
  }
  return std::unique_ptr<LearnRound>(std::make_unique<ChildRound>(pid));
}

}  // namespace hunch

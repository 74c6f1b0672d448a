#include "base/watchdog.h"

#include <execinfo.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace hunch {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// Nobody else uses it, and by default it ends the process.
constexpr int kStackSignal = SIGUSR2;
constexpr milliseconds kStackPatience{1000};

std::atomic<bool> stack_written{false};
static_assert(std::atomic<bool>::is_always_lock_free);

// On the thread that hangs, wherever it is: no memory is allocated and no lock taken.
extern "C" void HunchWriteStack(int) {
  constexpr int kMostFrames = 64;
  void* frames[kMostFrames];
  const int count = backtrace(frames, kMostFrames);
  backtrace_symbols_fd(frames, count, STDERR_FILENO);
  stack_written.store(true);
}

// Not through the log, whose lock the thread that hangs may hold.
void Say(std::string_view line) {
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

void ArmStackSignal() {
  // The first call loads a library, which a handler must not.
  void* frame = nullptr;
  backtrace(&frame, 1);
  struct sigaction action = {};
  action.sa_handler = HunchWriteStack;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(kStackSignal, &action, nullptr);
}

int64_t Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

void WriteStackOf(pthread_t thread) {
  stack_written.store(false);
  if (pthread_kill(thread, kStackSignal) != 0) return;
  const auto until = Clock::now() + kStackPatience;
  while (!stack_written.load() && Clock::now() < until) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  if (!stack_written.load()) Say("(it does not answer: it hangs in the system)\n");
}

}  // namespace

Watchdog::Watchdog(WatchdogOptions options) : options_(std::move(options)) {
  if (options_.limit.count() <= 0) return;
  if (!options_.on_stuck) ArmStackSignal();
  thread_ = std::thread([this] { Watch(); });
}

Watchdog::~Watchdog() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Watchdog::Begin() {
  watched_.store(pthread_self(), std::memory_order_relaxed);
  began_.store(Now(), std::memory_order_release);
}

void Watchdog::Watch() {
  const milliseconds pause = std::clamp(options_.limit / 8, milliseconds(5), milliseconds(500));
  std::unique_lock lock(mutex_);
  while (!stop_.wait_for(lock, pause, [this] { return stopping_; })) {
    const int64_t began = began_.load(std::memory_order_acquire);
    if (began == 0 || std::chrono::nanoseconds(Now() - began) < options_.limit) continue;
    stuck_.store(true);
    lock.unlock();
    Bark();
    return;
  }
}

void Watchdog::Bark() {
  if (options_.on_stuck) return options_.on_stuck();
  Say("hunch: a step has not come back within the watchdog's time; this is where it is:\n");
  WriteStackOf(watched_.load(std::memory_order_relaxed));
  std::this_thread::sleep_for(options_.grace);
  Say("hunch: the process ends, so that it can be started again\n");
  std::abort();
}

}  // namespace hunch

#include "apps/signals.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

namespace hunch {
namespace {

std::atomic<int> pending_signal{0};
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void HunchOnSignal(int number) {
  if (pending_signal.exchange(number) != 0) _exit(128 + number);
}

void SetHandler(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // no SA_RESTART: a read at the prompt must return
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

SignalInterrupts::~SignalInterrupts() {
  if (armed_) SetHandler(SIG_DFL);
}

void SignalInterrupts::Arm() {
  Clear();
  SetHandler(HunchOnSignal);
  armed_ = true;
}

int SignalInterrupts::Pending() const { return pending_signal.load(); }
void SignalInterrupts::Clear() { pending_signal.store(0); }

}  // namespace hunch

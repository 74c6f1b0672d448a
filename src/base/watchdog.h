// Watchdog: watches that a thread's work comes back. Work that takes longer than the limit is
// reported as stuck, the stack of its thread goes to stderr, and after a little while, in which who
// asks can see that it is stuck, the process aborts, so that a supervisor starts it again. It is no
// way out for work that is only slow: the limit is far above what any may take.
//
// Begin and End belong to the watched thread and cost a few nanoseconds; stuck() is for any. The
// process has one Watchdog with a limit at a time, because a signal handler is process-wide.
#ifndef HUNCH_BASE_WATCHDOG_H_
#define HUNCH_BASE_WATCHDOG_H_

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace hunch {

struct WatchdogOptions {
  std::chrono::milliseconds limit{0};     // 0: it never barks
  std::chrono::milliseconds grace{2000};  // from the report to the end
  // Instead of the stack and the abort; on the watchdog's thread.
  std::function<void()> on_stuck = {};
};

class Watchdog {
 public:
  explicit Watchdog(WatchdogOptions options);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void Begin();
  void End() { began_.store(0, std::memory_order_relaxed); }
  // Some work took longer than the limit. Stays.
  bool stuck() const { return stuck_.load(std::memory_order_relaxed); }

 private:
  void Watch();
  void Bark();

  const WatchdogOptions options_;
  std::atomic<int64_t> began_{0};  // nanoseconds of the steady clock; 0: idle
  std::atomic<pthread_t> watched_{};
  std::atomic<bool> stuck_{false};
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace hunch

#endif  // HUNCH_BASE_WATCHDOG_H_

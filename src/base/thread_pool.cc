#include "base/thread_pool.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cfenv>
#include <chrono>
#include <climits>
#include <cmath>
#include <system_error>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/cgroup.h"
#include "base/check.h"
#include "base/log.h"

namespace hunch {
namespace {

// Between jobs: longer than the serial gaps between a step's ops, short enough that an idle
// engine's crew leaves the machine alone.
constexpr std::chrono::microseconds kSpinForJob{100};
// For the others' last shares: a member that takes longer has lost its core. Parking frees ours,
// and the system's idle balancing brings it here.
constexpr std::chrono::microseconds kSpinForShares{50};
constexpr uint32_t kCallerParked = 0x80000000u;

inline void SpinPause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins until done() or the time is over; returns done().
template <typename Done>
bool SpinUntil(std::chrono::microseconds limit, Done done) {
  // The clock costs as much as a few pauses, so it is read once in a while, and first only after
  // what most waits take.
  for (int i = 0; i < 256; ++i) {
    if (done()) return true;
    SpinPause();
  }
  const auto end = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      SpinPause();
    }
  }
  return done();
}

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

// Sleeps while word == expected. May wake without a reason.
void FutexWait(std::atomic<uint32_t>& word, uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}
void FutexWakeAll(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

void SetNumericsMode() {
  std::fesetround(FE_TONEAREST);
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() & ~0x8040u);  // flush-to-zero and denormals-are-zero off
#elif defined(__aarch64__)
  uint64_t fpcr;
  asm volatile("mrs %0, fpcr" : "=r"(fpcr));
  asm volatile("msr fpcr, %0" : : "r"(fpcr & ~(uint64_t{1} << 24)));
#endif
}

int AvailableCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int cpus = static_cast<int>(std::thread::hardware_concurrency());
  if (sched_getaffinity(0, sizeof(set), &set) == 0) cpus = CPU_COUNT(&set);
  // Rounded up: a quota of 1.5 CPUs is better used by two members than by one.
  const double quota = std::ceil(CgroupCpus());
  if (quota < cpus) cpus = static_cast<int>(quota);
  return std::max(cpus, 1);
}

ThreadPool::ThreadPool(int threads) : size_(threads) {
  HUNCH_CHECK_GE(threads, 1);
  shares_ = std::make_unique<Share[]>(threads);
  workers_.reserve(threads - 1);
  try {
    for (int member = 1; member < threads; ++member) {
      workers_.emplace_back([this, member] { Work(member); });
    }
  } catch (const std::system_error&) {  // a limit on processes or memory
    size_ = static_cast<int>(workers_.size()) + 1;
    LogWarning(fmt::format("the system starts no more than {} of {} threads", size_, threads));
  }
}

ThreadPool::~ThreadPool() {
  stop_.store(true, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  FutexWakeAll(epoch_);
  for (auto& worker : workers_) worker.join();
}

void ThreadPool::RunJob(Job job, void* argument) {
  SetNumericsMode();
  if (size_ == 1) {
    job(argument, 0, 1);
    return;
  }
  job_ = job;
  argument_ = argument;
  unfinished_.store(static_cast<uint32_t>(size_), std::memory_order_relaxed);
  // seq_cst pairs with WaitForJob: either it sees the new epoch or we see that it parks. Whoever
  // parks after this store has seen the new epoch, or the wake-up reaches it.
  const uint32_t epoch = epoch_.fetch_add(1, std::memory_order_seq_cst) + 1;
  if (parked_.load(std::memory_order_seq_cst)) {
    parked_.store(false, std::memory_order_seq_cst);
    FutexWakeAll(epoch_);
  }
  RunShares(epoch, 0);
  WaitForAll();
}

void ThreadPool::RunShares(uint32_t epoch, int own) {
  for (int i = 0; i < size_; ++i) {
    const int share = own + i < size_ ? own + i : own + i - size_;
    // A share is begun once per job. A member that comes late finds a higher number and leaves,
    // and while it holds a share the job cannot end, so job_ and argument_ stay as they are.
    uint32_t before = epoch - 1;
    if (!shares_[share].begun.compare_exchange_strong(before, epoch, std::memory_order_acq_rel,
                                                      std::memory_order_relaxed)) {
      continue;
    }
    job_(argument_, share, size_);
    const uint32_t left = unfinished_.fetch_sub(1, std::memory_order_acq_rel) - 1;
    if (left == kCallerParked) FutexWakeAll(unfinished_);
    if ((left & ~kCallerParked) == 0) return;
  }
}

void ThreadPool::WaitForAll() {
  if (SpinUntil(kSpinForShares,
                [this] { return unfinished_.load(std::memory_order_acquire) == 0; })) {
    return;
  }
  uint32_t left = unfinished_.fetch_or(kCallerParked, std::memory_order_acq_rel) | kCallerParked;
  while (left != kCallerParked) {
    FutexWait(unfinished_, left);
    left = unfinished_.load(std::memory_order_acquire);
  }
}

void ThreadPool::WaitForJob(uint32_t seen) {
  if (SpinUntil(kSpinForJob, [&] { return epoch_.load(std::memory_order_acquire) != seen; })) {
    return;
  }
  while (true) {
    parked_.store(true, std::memory_order_seq_cst);
    if (epoch_.load(std::memory_order_seq_cst) != seen) return;
    FutexWait(epoch_, seen);
    if (epoch_.load(std::memory_order_acquire) != seen) return;
  }
}

void ThreadPool::Work(int member) {
  SetNumericsMode();
  uint32_t seen = 0;
  while (true) {
    WaitForJob(seen);
    // May skip jobs that the others have done without us.
    seen = epoch_.load(std::memory_order_acquire);
    if (stop_.load(std::memory_order_relaxed)) return;
    RunShares(seen, member);
  }
}

}  // namespace hunch

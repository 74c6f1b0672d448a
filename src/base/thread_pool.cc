#include "base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <fstream>
#include <string>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hunch {
namespace {

// About 50 microseconds: longer than the serial gaps between a step's ops, shorter than a step.
constexpr int kSpinsBeforePark = 20000;

inline void SpinPause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

double CgroupQuotaCpus() {
  std::ifstream v2("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (v2 >> quota >> period && quota != "max" && period > 0) return std::stod(quota) / period;
  std::ifstream v1_quota("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  std::ifstream v1_period("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  double v1 = 0;
  if (v1_quota >> v1 && v1_period >> period && v1 > 0 && period > 0) return v1 / period;
  return 0;
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
  int cpus = 1;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) cpus = CPU_COUNT(&set);
  const double quota = CgroupQuotaCpus();
  if (quota > 0) cpus = std::min(cpus, static_cast<int>(std::ceil(quota)));
  return std::max(cpus, 1);
}

ThreadPool::ThreadPool(int threads) {
  for (int thread = 1; thread < threads; ++thread) {
    workers_.emplace_back([this, thread] { Work(thread); });
  }
}

ThreadPool::~ThreadPool() {
  stop_.store(true, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  epoch_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void ThreadPool::RunJob(Job job, void* argument) {
  SetNumericsMode();
  job_ = job;
  argument_ = argument;
  running_.store(static_cast<uint32_t>(workers_.size()), std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  if (parked_.load(std::memory_order_seq_cst) != 0) epoch_.notify_all();
  job(argument, 0, size());
  int spins = 0;
  while (running_.load(std::memory_order_acquire) != 0) {
    // When another process holds our core's worker, give it ours instead of burning it.
    if (++spins < kSpinsBeforePark)
      SpinPause();
    else
      std::this_thread::yield();
  }
}

void ThreadPool::Work(int thread) {
  SetNumericsMode();
  uint32_t seen = 0;
  while (true) {
    int spins = 0;
    while (epoch_.load(std::memory_order_acquire) == seen && spins < kSpinsBeforePark) {
      SpinPause();
      ++spins;
    }
    if (epoch_.load(std::memory_order_acquire) == seen) {
      parked_.fetch_add(1, std::memory_order_seq_cst);
      epoch_.wait(seen, std::memory_order_seq_cst);
      parked_.fetch_sub(1, std::memory_order_relaxed);
    }
    if (epoch_.load(std::memory_order_acquire) == seen) continue;
    ++seen;
    if (stop_.load(std::memory_order_relaxed)) return;
    job_(argument_, thread, size());
    running_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace hunch

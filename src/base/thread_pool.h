// ThreadPool: a fixed crew that runs one function on every member and waits for all (fork-join).
// Members spin for a short while between jobs, then park, so that a step's many small ops do not
// pay for a wake-up and an idle engine costs no CPU. No allocation and no lock per job.
//
// Thread safety: Run is called by one thread at a time, the one that owns the pool.
// Every member sets the rounding and denormal mode of docs/numerics.md; Run does so for its caller.
#ifndef HUNCH_BASE_THREAD_POOL_H_
#define HUNCH_BASE_THREAD_POOL_H_

#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace hunch {

// Round to nearest, denormals kept: what every thread that computes must have set.
void SetNumericsMode();

// CPUs that affinity and the cgroup quota really give this process, at least 1.
int AvailableCpus();

struct Range {
  int64_t begin, end;
};
// The `part`-th of `parts` contiguous, almost equal pieces of [0, n).
inline Range Partition(int64_t n, int part, int parts) {
  return {n * part / parts, n * (part + 1) / parts};
}

class ThreadPool {
 public:
  // `threads` counts the caller: ThreadPool(1) starts none.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls fn(thread, threads) once on every member, thread in [0, size()), and returns when all
  // have.
  template <typename Fn>
  void Run(Fn&& fn) {
    using Plain = std::remove_reference_t<Fn>;
    RunJob([](void* job, int thread, int threads) { (*static_cast<Plain*>(job))(thread, threads); },
           const_cast<void*>(static_cast<const void*>(&fn)));
  }

 private:
  using Job = void (*)(void*, int, int);
  void RunJob(Job job, void* argument);
  void Work(int thread);

  Job job_ = nullptr;
  void* argument_ = nullptr;
  alignas(64) std::atomic<uint32_t> epoch_{0};    // a new value is a new job (or the end)
  alignas(64) std::atomic<uint32_t> running_{0};  // members that have not finished it
  alignas(64) std::atomic<uint32_t> parked_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> workers_;
};

}  // namespace hunch

#endif  // HUNCH_BASE_THREAD_POOL_H_

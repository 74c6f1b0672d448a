// ThreadPool: a fixed crew that runs one function on every member and waits for all (fork-join).
// Members spin for a short while between jobs, then park, so that a step's many small ops do not
// pay for a wake-up and an idle engine costs no CPU. No allocation and no lock per job; the only
// system call is the futex of a member that parks or is woken.
//
// A member that the system does not let run (parked, or its core taken by another process) does
// not hold up the others: whoever has finished its own share takes shares that nobody has begun.
// So an index in [0, size()) is a share of the work and a scratch slot, not a particular thread.
// A function may make its shares wait for each other (a barrier): nobody takes a second share
// before it has finished its own.
//
// Thread safety: Run is called by one thread at a time, the one that owns the pool.
// Every member sets the rounding and denormal mode of docs/numerics.md; Run does so for its caller.
#ifndef HUNCH_BASE_THREAD_POOL_H_
#define HUNCH_BASE_THREAD_POOL_H_

#include <atomic>
#include <cstdint>
#include <memory>
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
  // `threads` counts the caller: ThreadPool(1) starts none. At least 1. Where the system starts
  // fewer, the pool has fewer, with a warning.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return size_; }

  // Calls fn(share, shares) once for every share in [0, size()), and returns when all are done.
  template <typename Fn>
  void Run(Fn&& fn) {
    using Plain = std::remove_reference_t<Fn>;
    RunJob([](void* job, int share, int shares) { (*static_cast<Plain*>(job))(share, shares); },
           const_cast<void*>(static_cast<const void*>(&fn)));
  }

 private:
  using Job = void (*)(void*, int, int);
  // The epoch of the last job whose share this is was begun; one cache line each.
  struct alignas(64) Share {
    std::atomic<uint32_t> begun{0};
  };

  void RunJob(Job job, void* argument);
  void Work(int member);
  // Runs share `own` of job `epoch` and then what nobody has begun.
  void RunShares(uint32_t epoch, int own);
  void WaitForAll();
  // Waits for a job after `seen`: spins, then parks.
  void WaitForJob(uint32_t seen);

  int size_;           // fixed after construction
  Job job_ = nullptr;  // job_ and argument_ belong to whoever has begun a share of the epoch
  void* argument_ = nullptr;
  std::unique_ptr<Share[]> shares_;                  // [size_]
  alignas(64) std::atomic<uint32_t> epoch_{0};       // a new value is a new job (or the end)
  alignas(64) std::atomic<uint32_t> unfinished_{0};  // shares; top bit: the caller is parked
  alignas(64) std::atomic<bool> parked_{false};      // a member waits for epoch_ in the kernel
  std::atomic<bool> stop_{false};
  std::vector<std::thread> workers_;
};

}  // namespace hunch

#endif  // HUNCH_BASE_THREAD_POOL_H_

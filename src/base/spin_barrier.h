// SpinBarrier: all members of a running pool job meet here. Spins, since the phases of a forward
// pass are microseconds apart; after a while it yields, so that a machine with fewer free cores
// than members still makes progress. No lock, no allocation.
#ifndef HUNCH_BASE_SPIN_BARRIER_H_
#define HUNCH_BASE_SPIN_BARRIER_H_

#include <atomic>
#include <cstdint>
#include <thread>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hunch {

class SpinBarrier {
 public:
  void Wait(int members) {
    if (members == 1) return;
    const uint32_t generation = generation_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members) {
      arrived_.store(0, std::memory_order_relaxed);
      generation_.store(generation + 1, std::memory_order_release);
      return;
    }
    int spins = 0;
    while (generation_.load(std::memory_order_acquire) == generation) {
      if (++spins < kSpinsBeforeYield) {
#if defined(__x86_64__)
        _mm_pause();
#endif
      } else {
        std::this_thread::yield();
      }
    }
  }

 private:
  // About 200 microseconds: longer than one phase's imbalance, shorter than a scheduler's slice.
  static constexpr int kSpinsBeforeYield = 5000;
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<uint32_t> generation_{0};
};

}  // namespace hunch

#endif  // HUNCH_BASE_SPIN_BARRIER_H_

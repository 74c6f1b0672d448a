// The scalar reference has no dot instruction: what the compiler makes of the plain loop, in cache.
#include <cstring>

#include "kernels/dot_peak.h"

namespace hunch {

int64_t DotPeakRef(int64_t steps) {
  constexpr int kCount = 512;
  int8_t a[kCount], b[kCount];
  std::memset(a, 3, sizeof(a));
  std::memset(b, 5, sizeof(b));
  for (int64_t step = 0; step < steps; ++step) {
    asm volatile("" : : "r"(a), "r"(b) : "memory");
    int32_t sum = 0;
    for (int i = 0; i < kCount; ++i) sum += a[i] * b[i];
    asm volatile("" : : "r"(sum));
  }
  return steps * kCount;
}

}  // namespace hunch

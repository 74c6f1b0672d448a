#include "kernels/machine_limits.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>

#include "base/aligned_buffer.h"
#include "base/memory.h"
#include "kernels/dot_peak.h"

namespace hunch {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr int64_t kLine = 64;  // bytes of a cache line

// The least of the seconds that a run of `work` takes: of as many runs as a second has room for, of
// three where that is a slow machine.
template <typename Work>
double LeastSeconds(Work&& work) {
  double least = std::numeric_limits<double>::max(), total = 0;
  for (int run = 0; run < 3 || total < 1; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    least = std::min(least, taken.count());
    total += taken.count();
  }
  return least;
}

// Four times the last level cache leaves next to nothing of one pass for the next; no more than
// half of what is free.
size_t BufferBytes() {
  const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);  // 0 or -1: unknown
  const uint64_t wanted = std::max<uint64_t>(1024 * kMiB, 4 * std::max(cache, 0L));
  return std::max(std::min(wanted, AvailableMemoryBytes() / 2), 64 * kMiB) / kLine * kLine;
}

void ReadLines(const uint64_t* words, int64_t lines) {
  constexpr int64_t kAhead = 1024;  // words: 8 KiB, as the kernels do
  uint64_t sums[8] = {};
  for (int64_t i = 0; i < lines; ++i) {
    __builtin_prefetch(words + 8 * i + kAhead);
    for (int64_t j = 0; j < 8; ++j) sums[j] += words[8 * i + j];
  }
  for (uint64_t sum : sums) asm volatile("" : : "r"(sum));
}

int64_t DotSteps(Isa isa, int64_t steps) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAvx2:
      return DotPeakAvx2(steps);
    case Isa::kAvx512:
      return DotPeakAvx512(steps);
#elif defined(__aarch64__)
    case Isa::kNeon:
      return DotPeakNeon(steps);
#endif
    default:
      return DotPeakRef(steps);
  }
}

}  // namespace

Result<double> MeasureReadBandwidth(ThreadPool& pool) {
  HUNCH_ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::Create(BufferBytes()));
  const auto lines = static_cast<int64_t>(buffer.size()) / kLine;
  pool.Run([&](int thread, int threads) {
    // Untouched pages would all be the one page of zeros.
    const Range range = Partition(lines, thread, threads);
    std::memset(buffer.data() + range.begin * kLine, 1,
                static_cast<size_t>((range.end - range.begin) * kLine));
  });
  const double seconds = LeastSeconds([&] {
    pool.Run([&](int thread, int threads) {
      const Range range = Partition(lines, thread, threads);
      ReadLines(buffer.as<uint64_t>() + 8 * range.begin, range.end - range.begin);
    });
  });
  return static_cast<double>(buffer.size()) / seconds;
}

double MeasureDotPeak(Isa isa, ThreadPool& pool) {
  constexpr int64_t kSteps = 50'000;  // under a millisecond, to fall between two disturbances
  int64_t macs = 0;                   // of one thread
  const double seconds = LeastSeconds([&] {
    pool.Run([&](int thread, int) {
      const int64_t done = DotSteps(isa, kSteps);
      if (thread == 0) macs = done;
    });
  });
  return static_cast<double>(macs) * pool.size() / seconds;
}

}  // namespace hunch

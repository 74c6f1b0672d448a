// ThreadPool: every share runs exactly once, whoever runs it; parking, waking and the end lose
// nothing; shares may meet at a barrier. Run under ThreadSanitizer too.
#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <limits>
#include <thread>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hunch {
namespace {

TEST(ThreadPoolTest, EveryShareOncePerJob) {
  for (int threads = 1; threads <= 8; ++threads) {
    ThreadPool pool(threads);
    ASSERT_EQ(pool.size(), threads);
    std::vector<int> counts(threads);  // plain ints: a race or a missed join would show
    for (int job = 0; job < 2000; ++job) {
      pool.Run([&](int share, int shares) {
        ASSERT_EQ(shares, threads);
        ++counts[share];
      });
      for (int share = 0; share < threads; ++share) ASSERT_EQ(counts[share], job + 1);
    }
  }
}

TEST(ThreadPoolTest, ResultsOfOneJobAreSeenByTheNext) {
  ThreadPool pool(3);
  std::vector<int64_t> values(3 * 64), sums(3);
  for (int job = 1; job <= 500; ++job) {
    pool.Run([&](int share, int shares) {
      const Range range = Partition(values.size(), share, shares);
      for (int64_t i = range.begin; i < range.end; ++i) values[i] = job * i;
    });
    pool.Run([&](int share, int) {
      sums[share] = 0;
      for (int64_t value : values) sums[share] += value;
    });
    const int64_t want = job * (3 * 64) * (3 * 64 - 1) / 2;
    for (int64_t sum : sums) ASSERT_EQ(sum, want);
  }
}

TEST(ThreadPoolTest, MembersThatParkedComeBack) {
  ThreadPool pool(4);
  std::atomic<int> runs{0};
  for (int job = 0; job < 30; ++job) {
    // Longer than a member spins, so most jobs find a parked crew; some find one about to park.
    std::this_thread::sleep_for(std::chrono::microseconds(job % 3 * 100));
    pool.Run([&](int, int) { runs.fetch_add(1); });
    ASSERT_EQ(runs.load(), 4 * (job + 1));
  }
}

TEST(ThreadPoolTest, CallerParksUntilSlowShareIsDone) {
  ThreadPool pool(2);
  bool slow_done = false;
  pool.Run([&](int share, int) {
    if (share == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      slow_done = true;
    }
  });
  EXPECT_TRUE(slow_done);
}

TEST(ThreadPoolTest, SharesMayMeetAtABarrier) {
  // Nobody takes a second share before its own is done, so this cannot deadlock.
  for (int threads : {2, 3, 5}) {
    ThreadPool pool(threads);
    for (int job = 0; job < 20; ++job) {
      std::atomic<int> arrived{0};
      pool.Run([&](int, int shares) {
        arrived.fetch_add(1);
        while (arrived.load() < shares) std::this_thread::yield();
      });
      ASSERT_EQ(arrived.load(), threads);
    }
  }
}

TEST(ThreadPoolTest, OthersTakeTheShareOfAMemberThatCannotRun) {
  // Empty shares and a member that has parked every hundredth time: the caller is done long before
  // the wake-up, and must not wait for it.
  ThreadPool pool(2);
  const std::thread::id caller = std::this_thread::get_id();
  int taken = 0;
  for (int job = 0; job < 2000; ++job) {
    pool.Run([&](int share, int) {
      if (share == 1 && std::this_thread::get_id() == caller) ++taken;
    });
    if (job % 100 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
  }
  EXPECT_GT(taken, 0);
}

TEST(ThreadPoolTest, EndsWhileSpinningAndWhileParked) {
  for (int i = 0; i < 50; ++i) {
    ThreadPool spinning(3);
    if (i % 2 == 0) spinning.Run([](int, int) {});
  }
  ThreadPool parked(3);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

TEST(ThreadPoolTest, PartitionCoversOnce) {
  for (int64_t n : {0, 1, 5, 16, 1000}) {
    for (int parts = 1; parts <= 9; ++parts) {
      int64_t next = 0;
      for (int part = 0; part < parts; ++part) {
        const Range range = Partition(n, part, parts);
        EXPECT_EQ(range.begin, next);
        EXPECT_LE(range.end - range.begin, n / parts + 1);
        next = range.end;
      }
      EXPECT_EQ(next, n);
    }
  }
}

TEST(ThreadPoolTest, EveryMemberRoundsToNearestAndKeepsSubnormals) {
  std::fesetround(FE_UPWARD);
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040u);
#elif defined(__aarch64__)
  uint64_t fpcr;
  asm volatile("mrs %0, fpcr" : "=r"(fpcr));
  asm volatile("msr fpcr, %0" : : "r"(fpcr | 1u << 24));
#endif
  ThreadPool pool(3);  // its threads inherit the wrong mode
  std::vector<int> rounding(3);
  std::vector<float> tiny(3);
  pool.Run([&](int share, int) {
    rounding[share] = std::fegetround();
    volatile float smallest = std::numeric_limits<float>::min();
    tiny[share] = smallest / 4.0f;
  });
  for (int share = 0; share < 3; ++share) {
    EXPECT_EQ(rounding[share], FE_TONEAREST);
    EXPECT_EQ(tiny[share], std::numeric_limits<float>::min() / 4.0f);
    EXPECT_GT(tiny[share], 0.0f);
  }
}

TEST(ThreadPoolTest, AvailableCpusIsSane) {
  EXPECT_GE(AvailableCpus(), 1);
  EXPECT_LE(AvailableCpus(), static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace
}  // namespace hunch

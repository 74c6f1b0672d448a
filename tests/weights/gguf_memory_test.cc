// What a hostile header can make the parser allocate. This program's operator new counts.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "support/gguf_builder.h"
#include "weights/gguf.h"

namespace {

// Bytes live now and the most since the last Reset. A replaced operator new has no other place to
// count in.
std::atomic<int64_t> live_bytes{0};
std::atomic<int64_t> peak_bytes{0};

void* Allocate(size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  const int64_t live = live_bytes.fetch_add(static_cast<int64_t>(malloc_usable_size(memory))) +
                       static_cast<int64_t>(malloc_usable_size(memory));
  int64_t peak = peak_bytes.load();
  while (peak < live && !peak_bytes.compare_exchange_weak(peak, live)) {
  }
  return memory;
}

void Free(void* memory) {
  if (memory == nullptr) return;
  live_bytes.fetch_sub(static_cast<int64_t>(malloc_usable_size(memory)));
  std::free(memory);
}

}  // namespace

void* operator new(size_t size) { return Allocate(size); }
void* operator new[](size_t size) { return Allocate(size); }
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete[](void* memory) noexcept { Free(memory); }
void operator delete(void* memory, size_t) noexcept { Free(memory); }
void operator delete[](void* memory, size_t) noexcept { Free(memory); }

namespace hunch {
namespace {

// The most that parsing (and the result) had allocated at one time.
int64_t PeakOfParsing(const std::vector<std::byte>& bytes, bool expect_ok) {
  const int64_t before = live_bytes.load();
  peak_bytes.store(before);
  EXPECT_EQ(GgufFile::Parse(bytes, "f").ok(), expect_ok);
  const int64_t peak = peak_bytes.load() - before;
  EXPECT_EQ(live_bytes.load(), before) << "leaked";
  return peak;
}

TEST(GgufMemory, HugeCountsInASmallFileAllocateLittle) {
  std::vector<GgufBuilder> files;
  for (uint64_t huge :
       {uint64_t{1} << 20, uint64_t{1} << 32, uint64_t{1} << 48, uint64_t{1} << 63, ~uint64_t{0}}) {
    for (int kind = 0; kind < 6; ++kind) {
      GgufBuilder file = GgufBuilder::Small();
      if (kind == 0) file.key_count = huge;
      if (kind == 1) file.tensor_count = huge;
      if (kind == 2) file.keys[3].name_length = huge;
      if (kind == 3) file.Add("bad", kWireString, RawString("x", huge));
      if (kind == 4) file.Add("bad", kWireArray, RawArray(kWireString, huge, ""));
      if (kind == 5) file.Add("bad", kWireArray, RawArray(kWireU8, huge, ""));
      files.push_back(std::move(file));
    }
  }
  for (const GgufBuilder& file : files) {
    const std::vector<std::byte> bytes = ToBytes(file.Build());
    EXPECT_LT(PeakOfParsing(bytes, false), 64 << 10);
  }
}

TEST(GgufMemory, ACountIsBackedByBytesBeforeAnythingIsReserved) {
  // 2^17 strings could fit into the bytes that follow, but one of them takes them all.
  GgufBuilder file;
  file.Add("bad", kWireArray, RawArray(kWireString, 1 << 17, RawString(std::string(1 << 20, 'x'))));
  const std::vector<std::byte> bytes = ToBytes(file.Build());
  EXPECT_LT(PeakOfParsing(bytes, false), 6 * static_cast<int64_t>(bytes.size()));
}

TEST(GgufMemory, TheWorstArraysTakeEightTimesTheirBytes) {
  GgufBuilder file;
  file.Add("bytes", kWireArray, RawArray(kWireU8, 1 << 20, std::string(1 << 20, '\1')));
  const std::vector<std::byte> bytes = ToBytes(file.Build());
  const int64_t peak = PeakOfParsing(bytes, true);
  EXPECT_GT(peak, 8 << 20);  // the counter works
  EXPECT_LT(peak, 9 << 20);
}

}  // namespace
}  // namespace hunch

// What attention costs over a long context, by cache type: time of M rows of one layer over 8192
// positions, and GB/s of keys and values at one row.
//
//   attention_bench [positions]
//
// As in a decoding step of many layers the cache comes from memory: every pass takes the next of
// several layers. The table shows the lower quartile, because the neighbours only ever add time.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <string_view>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/isa.h"
#include "base/thread_pool.h"
#include "kernels/ops.h"

namespace hunch {
namespace {

struct Shape {
  std::string_view model;
  int heads, kv_heads, head_dim;
};
constexpr Shape kShapes[] = {{"SmolLM2-135M", 9, 3, 64}, {"Qwen2.5-Coder-1.5B", 12, 2, 128}};
constexpr std::pair<KvType, std::string_view> kTypes[] = {
    {KvType::kF32, "f32"}, {KvType::kF16, "f16"}, {KvType::kQ8_0, "q8_0"}};
constexpr int kRows[] = {1, 2, 5, 8};
constexpr int kMostRows = 8;
constexpr size_t kColdBytes = 160u << 20;  // several times the last level cache
constexpr int kPasses = 60;

// Layers of `positions` random keys and values.
class Cache {
 public:
  Cache(KvType type, const Shape& shape, int positions) {
    const int blocks = (positions + kKvBlock - 1) / kKvBlock;
    const size_t bytes = blocks * KvBlockBytes(type, shape.kv_heads, shape.head_dim);
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> row(shape.kv_heads * shape.head_dim);
    for (size_t layer = 0; layer < kColdBytes / (2 * bytes) + 2; ++layer) {
      for (int i = 0; i < 2; ++i) memory_.push_back(AlignedBuffer::Create(bytes).value());
      layers_.push_back(DenseKvLayer(type, memory_[memory_.size() - 2].data(),
                                     memory_.back().data(), shape.kv_heads, shape.head_dim));
      for (float& x : row) x = normal(random);
      for (int p = 0; p < positions; ++p) {
        row[p % row.size()] = normal(random);
        KvStore(layers_.back(), p / kKvBlock, p % kKvBlock, row.data(), row.data());
      }
    }
    for (int block = 0; block < blocks; ++block) table_.push_back(block);
    gigabytes_ = 2 * static_cast<double>(bytes) / 1e9;
  }
  const KvLayer& Next() { return layers_[next_++ % layers_.size()]; }
  const int32_t* table() const { return table_.data(); }
  double gigabytes() const { return gigabytes_; }  // of one layer

 private:
  std::vector<AlignedBuffer> memory_;
  std::vector<KvLayer> layers_;
  std::vector<int32_t> table_;
  size_t next_ = 0;
  double gigabytes_ = 0;
};

double Seconds(Cache& cache, const Shape& shape, int rows, int positions, ThreadPool& pool) {
  std::vector<float> q(rows * shape.heads * shape.head_dim, 0.1f), out(q.size());
  std::vector<RowView> views;
  for (int r = 0; r < rows; ++r) views.push_back({positions - rows + r + 1, nullptr, 0});
  AttentionArgs args = {cache.Next(), cache.table(), q.data(),    out.data(),
                        views.data(), rows,          shape.heads, 0.1f};
  std::vector<float> partials(AttentionPartialsFloats(args));
  const size_t scratch_bytes = (AttentionScratchBytes(args) + 63) / 64 * 64;
  AlignedBuffer scratch = AlignedBuffer::Create(pool.size() * scratch_bytes).value();
  const int chunks = AttentionChunks(args);
  std::vector<double> seconds;
  for (int pass = 0; pass < kPasses; ++pass) {
    args.layer = cache.Next();
    const auto begin = std::chrono::steady_clock::now();
    pool.Run([&](int share, int shares) {
      const Range range = Partition(shape.kv_heads * chunks, share, shares);
      for (int item = static_cast<int>(range.begin); item < range.end;) {
        const int first = item % chunks;
        const int last = std::min<int>(chunks, first + static_cast<int>(range.end) - item);
        AttentionPartials(args, item / chunks, 0, rows, first, last, partials.data(),
                          scratch.data() + share * scratch_bytes);
        item += last - first;
      }
    });
    for (int h = 0; h < shape.kv_heads; ++h) AttentionMerge(args, h, 0, rows, partials.data());
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + kPasses / 4, seconds.end());
  return seconds[kPasses / 4];
}

void Measure(int positions) {
  ThreadPool pool(AvailableCpus());
  fmt::print("{} threads, {}, {} positions; milliseconds of one layer\n", pool.size(),
             IsaName(ActiveIsa()), positions);
  for (const Shape& shape : kShapes) {
    fmt::print("{}: {} heads, {} key/value heads of {}\n  cache", shape.model, shape.heads,
               shape.kv_heads, shape.head_dim);
    for (int rows : kRows) fmt::print("{:>10}", fmt::format("{} rows", rows));
    fmt::print("   GB/s at 1\n");
    for (const auto& [type, name] : kTypes) {
      Cache cache(type, shape, positions);
      fmt::print("  {:<5}", name);
      double one = 0;
      for (int rows : kRows) {
        const double seconds = Seconds(cache, shape, rows, positions, pool);
        if (rows == 1) one = seconds;
        fmt::print("{:>10.3f}", seconds * 1e3);
      }
      fmt::print("{:>12.1f}\n", cache.gigabytes() / one);
    }
  }
}

}  // namespace
}  // namespace hunch

int main(int argc, char** argv) {
  const int positions = argc > 1 ? std::atoi(argv[1]) : 8192;
  if (positions < 1024) {
    fmt::print(stderr, "positions: a number from 1024 up\n");
    return 2;
  }
  hunch::Measure(positions);
}

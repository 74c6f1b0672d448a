// What a linear layer costs against what the machine can do: for the shapes of the two models, time
// of M rows over time of one, GB/s of packed weights at M = 1 beside the measured read bandwidth,
// and GMAC/s beside the measured peak of the dot instruction.
//
//   matmul_bench [--isa NAME] [--threads N] [--rounds N] [--only SUBSTRING of "NxK TYPE"]
//
// Every layer is a slice of a matrix larger than the last level cache, so weights come from memory
// as in a decoding step, and each slice is one fork-join of the pool. The M are interleaved inside
// a round; the table shows the seconds round, because the neighbours only ever add time.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/machine_limits.h"
#include "kernels/matmul.h"
#include "quant/quant.h"

namespace hunch {
namespace {

struct Options {
  std::vector<Isa> isas;
  int threads = AvailableCpus();
  int rounds = 3;
  std::string only;
};

struct Shape {
  int64_t n, k;  // outputs, inputs
  TensorType type;
};

// The output matrices (49152 and 151936 rows) are cut into pieces, to be timed between
// disturbances.
constexpr Shape kShapes[] = {
    {576, 576, TensorType::kQ4_1},     {1536, 576, TensorType::kQ4_1},
    {576, 1536, TensorType::kQ4_1},    {4096, 576, TensorType::kQ8_0},
    {896, 896, TensorType::kQ5_0},     {1536, 1536, TensorType::kQ4_K},
    {8960, 1536, TensorType::kQ4_K},   {1536, 8960, TensorType::kQ4_K},
    {1536, 8960, TensorType::kQ6_K},   {15184, 1536, TensorType::kQ6_K},
    {1536, 1536, TensorType::kQ4_0},   {1536, 1536, TensorType::kQ5_1},
    {1536, 1536, TensorType::kIQ4_NL}, {1536, 1536, TensorType::kQ2_K},
    {1536, 1536, TensorType::kQ3_K},   {1536, 1536, TensorType::kQ5_K},
    {1536, 1536, TensorType::kF16},    {1536, 1536, TensorType::kBF16},
    {1536, 1536, TensorType::kF32},
};
constexpr int kRows[] = {1, 2, 3, 4, 6, 8, 12, 16, 128};
constexpr int kMostRows = 128;
constexpr size_t kColdBytes = 160u << 20;  // several times the last level cache

// Times of one piece of work, each short enough to fall between two disturbances.
class Samples {
 public:
  void Time(const std::function<void()>& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    seconds_.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  // The lower quartile: neighbours only ever add time, and they do so in more than half of the
  // samples of a shared machine.
  double Seconds() {
    const size_t at = seconds_.size() / 4;
    std::nth_element(seconds_.begin(), seconds_.begin() + static_cast<std::ptrdiff_t>(at),
                     seconds_.end());
    return seconds_[at];
  }

 private:
  std::vector<double> seconds_;
};

PackedMatrix ColdMatrix(const Shape& shape, int64_t copies, ThreadPool& pool) {
  std::mt19937 random(1);
  const size_t slice = BytesOf(shape.type, shape.n * shape.k);
  std::vector<std::byte> bytes(slice * static_cast<size_t>(copies));
  // Small exponents everywhere: no Inf, NaN or subnormal slows an instruction down.
  for (size_t i = 0; i + 4 <= slice; i += 4) {
    const uint32_t word = static_cast<uint32_t>(random()) & 0x33FF33FF;
    std::memcpy(&bytes[i], &word, 4);
  }
  for (int64_t copy = 1; copy < copies; ++copy) {
    std::memcpy(&bytes[slice * static_cast<size_t>(copy)], bytes.data(), slice);
  }
  return PackedMatrix::Pack(shape.type, shape.n * copies, shape.k, bytes, pool).value();
}

struct Activations {
  AlignedBuffer f32, q, scale, sum;
  ActRows rows;
};

Activations MakeActivations(int64_t k) {
  const auto count = static_cast<size_t>(kMostRows * k);
  Activations acts{AlignedBuffer::Create(4 * count).value(),
                   AlignedBuffer::Create(count).value(),
                   AlignedBuffer::Create(count / 8).value(),
                   AlignedBuffer::Create(count / 8).value(),
                   {}};
  std::mt19937 random(2);
  std::normal_distribution<float> normal(0, 1);
  for (size_t i = 0; i < count; ++i) acts.f32.as<float>()[i] = normal(random);
  for (int64_t m = 0; m < kMostRows; ++m) {
    QuantizeRow(acts.f32.as<float>() + m * k, k, acts.q.as<int8_t>() + m * k,
                acts.scale.as<float>() + m * k / 32, acts.sum.as<int16_t>() + m * k / 16);
  }
  acts.rows = {.m = 1,
               .k = k,
               .f32 = acts.f32.as<float>(),
               .q = acts.q.as<int8_t>(),
               .scale = acts.scale.as<float>(),
               .sum = acts.sum.as<int16_t>()};
  return acts;
}

// One pass over the layers with m rows, weights cold. Every layer writes the same y[m][n]: its
// column 0 is moved back by the outputs before the layer's.
void TimeLayers(Isa isa, const PackedMatrix& matrix, int64_t layers, int64_t layer_groups,
                const ActRows& all, int m, float* y, ThreadPool& pool, Samples& samples) {
  ActRows x = all;
  x.m = m;
  const int64_t n = layer_groups * kGroupRows;
  for (int64_t layer = 0; layer < layers; ++layer) {
    samples.Time([&] {
      pool.Run([&](int thread, int threads) {
        const Range range = Partition(layer_groups, thread, threads);
        MatMulOn(isa, matrix, x, y - layer * n, n, layer * layer_groups + range.begin,
                 layer * layer_groups + range.end);
      });
    });
  }
}

void BenchShape(Isa isa, const Shape& shape, double bandwidth, double peak, const Options& options,
                ThreadPool& pool) {
  const size_t layer_bytes = PackedMatrix::PackedBytes(shape.type, shape.n, shape.k);
  const auto layers = static_cast<int64_t>(std::max<size_t>(kColdBytes / layer_bytes, 1));
  const PackedMatrix matrix = ColdMatrix(shape, layers, pool);
  Activations acts = MakeActivations(shape.k);
  AlignedBuffer y =
      AlignedBuffer::Create(sizeof(float) * static_cast<size_t>(kMostRows * shape.n)).value();
  Samples samples[std::size(kRows)];
  for (int round = 0; round < options.rounds; ++round) {
    for (size_t i = 0; i < std::size(kRows); ++i) {
      // A prompt's pass takes long enough with a few layers.
      const int64_t few = kRows[i] > 16 ? std::max<int64_t>(layers / 16, 1) : layers;
      TimeLayers(isa, matrix, few, shape.n / kGroupRows, acts.rows, kRows[i], y.as<float>(), pool,
                 samples[i]);
    }
  }
  double seconds[std::size(kRows)];
  for (size_t i = 0; i < std::size(kRows); ++i) seconds[i] = samples[i].Seconds();
  const double read = static_cast<double>(layer_bytes) / seconds[0];
  const double macs =
      static_cast<double>(kMostRows * shape.n * shape.k) / seconds[std::size(kRows) - 1];
  std::string line =
      fmt::format("{:<7}{:>16} {:<7}{:6.1f} GB/s {:4.0f}% |", IsaName(isa),
                  fmt::format("{}x{}", shape.n, shape.k), GetTypeTraits(shape.type).name,
                  read / 1e9, 100 * read / bandwidth);
  for (size_t i = 1; i + 1 < std::size(kRows); ++i)
    line += fmt::format(" {:5.2f}", seconds[i] / seconds[0]);
  line += fmt::format(" | {:6.0f} GMAC/s", macs / 1e9);
  if (UsesQuantizedActs(shape.type)) line += fmt::format(" {:3.0f}%", 100 * macs / peak);
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

int Main(const Options& options) {
  ThreadPool pool(options.threads);
  const double bandwidth = MeasureReadBandwidth(pool).value();
  fmt::print("{}, {} threads: read {:.1f} GB/s\n", CpuName(), pool.size(), bandwidth / 1e9);
  for (Isa isa : options.isas) {
    const double peak = MeasureDotPeak(isa, pool);
    fmt::print("{}: dot peak {:.0f} GMAC/s\n", IsaName(isa), peak / 1e9);
    fmt::print("isa       outputs x K type     M = 1 weights    | T(M)/T(1) at");
    for (size_t i = 1; i + 1 < std::size(kRows); ++i) fmt::print(" {}", kRows[i]);
    fmt::print(" | M = {}\n", kMostRows);
    for (const Shape& shape : kShapes) {
      const std::string name =
          fmt::format("{}x{} {}", shape.n, shape.k, GetTypeTraits(shape.type).name);
      if (name.find(options.only) != std::string::npos) {
        BenchShape(isa, shape, bandwidth, peak, options, pool);
      }
    }
  }
  return 0;
}

int Usage() {
  fmt::print(stderr, "usage: matmul_bench [--isa NAME] [--threads N] [--rounds N] [--only TEXT]\n");
  return 2;
}

}  // namespace
}  // namespace hunch

int main(int argc, char** argv) {
  hunch::Options options;
  for (hunch::Isa isa : hunch::SupportedIsas()) {
    if (isa != hunch::Isa::kRef) options.isas.push_back(isa);
  }
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc) return hunch::Usage();
    const std::string_view flag = argv[i], value = argv[i + 1];
    if (flag == "--isa") {
      options.isas.clear();
      for (hunch::Isa isa : hunch::SupportedIsas()) {
        if (hunch::IsaName(isa) == value) options.isas = {isa};
      }
      if (options.isas.empty()) return hunch::Usage();
    } else if (flag == "--threads") {
      options.threads = std::max(std::atoi(argv[i + 1]), 1);
    } else if (flag == "--rounds") {
      options.rounds = std::max(std::atoi(argv[i + 1]), 1);
    } else if (flag == "--only") {
      options.only = value;
    } else {
      return hunch::Usage();
    }
  }
  return hunch::Main(options);
}

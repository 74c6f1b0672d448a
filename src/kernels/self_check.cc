#include "kernels/self_check.h"

#include <fmt/format.h>

#include <bit>
#include <chrono>
#include <cstring>
#include <tuple>

#include "base/aligned_buffer.h"
#include "base/log.h"
#include "base/thread_pool.h"
#include "kernels/matmul.h"
#include "kernels/ops_tables.h"
#include "kernels/pack_layout.h"
#include "quant/quant.h"

namespace hunch {
namespace {

// Pseudo-random bits: the i-th word of stream `stream` (SplitMix64's output function).
uint32_t Word(uint32_t stream, size_t i) {
  uint64_t z = (i + 1) * 0x9E3779B97F4A7C15u + stream * 0xD1B54A32D192ED03u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<uint32_t>(z >> 32);
}
float Uniform(uint32_t stream, size_t i) {  // in [-2, 2)
  return static_cast<float>(static_cast<int32_t>(Word(stream, i))) * 0x1p-30f;
}
std::vector<float> Floats(uint32_t stream, size_t n) {
  std::vector<float> out(n);
  for (size_t i = 0; i < n; ++i) out[i] = Uniform(stream, i);
  return out;
}

// An array as the kernels want it: on a cache line of its own.
template <typename T>
class Aligned {
 public:
  explicit Aligned(size_t n) : memory_(AlignedBuffer::Create(n * sizeof(T)).value()), size_(n) {
    std::memset(memory_.data(), 0, n * sizeof(T));
  }
  T* data() { return reinterpret_cast<T*>(memory_.data()); }
  T& operator[](size_t i) { return data()[i]; }
  size_t size() const { return size_; }

 private:
  AlignedBuffer memory_;
  size_t size_;
};

// Packed weights of three groups (a pair and a single one) with arbitrary codes and sane scales.
Aligned<std::byte> PackedWeights(TensorType type, int64_t k, int64_t groups) {
  const PackLayout layout = PackLayoutOf(type);
  const int64_t chunks = groups * (k / layout.chunk_weights);
  Aligned<std::byte> packed(chunks * layout.chunk_bytes);
  if (layout.scales == ScaleKind::kNone) {
    for (int64_t i = 0; i < groups * kGroupRows * k; ++i) {
      const float value = Uniform(3, i);
      const uint16_t half = type == TensorType::kF16
                                ? F32ToF16(value)
                                : static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
      if (type == TensorType::kF32) {
        std::memcpy(packed.data() + 4 * i, &value, sizeof(value));
      } else {
        std::memcpy(packed.data() + 2 * i, &half, sizeof(half));
      }
    }
    return packed;
  }
  for (size_t i = 0; i < packed.size(); i += 4) {
    const uint32_t word = Word(3, i / 4);
    std::memcpy(packed.data() + i, &word, sizeof(word));
  }
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    std::byte* first = packed.data() + chunk * layout.chunk_bytes;
    if (layout.scales == ScaleKind::kSuper32Min) {  // small scales have six bits
      for (int i = 0; i < 256; ++i) first[layout.small_at + i] &= std::byte{63};
    }
    for (int i = 0; i < 2 * kGroupRows; ++i) {
      const bool minimum = i >= kGroupRows;
      if (minimum && (layout.scales == ScaleKind::kBlock || layout.scales == ScaleKind::kSuper16))
        break;
      const uint16_t half = F32ToF16(Uniform(4, 32 * chunk + i));
      std::memcpy(first + layout.scales_at + 2 * i, &half, sizeof(half));
    }
  }
  return packed;
}

bool SameMatMul(TensorType type, const MatMulKernels& truth, const MatMulKernels& kernels) {
  constexpr int kRows = 7, kGroups = 3, kOutputs = 16 * kGroups;
  const int64_t k = PackLayoutOf(type).chunk_weights == 256 ? 512 : 320;
  Aligned<std::byte> weights = PackedWeights(type, k, kGroups);
  Aligned<float> x(kRows * k), scale(kRows * k / 32);
  Aligned<int8_t> q(kRows * k);
  Aligned<int16_t> sum(kRows * k / 16);
  for (size_t i = 0; i < x.size(); ++i) x[i] = Uniform(5, i);
  truth.quantize_row(x.data(), kRows * k, q.data(), scale.data(), sum.data());
  const auto multiply = [&](const MatMulKernels& by, int rows) {
    std::vector<float> y(kRows * kOutputs, 7.0f);
    by.mat_mul({.type = type,
                .weights = weights.data(),
                .group_bytes = static_cast<int64_t>(weights.size()) / kGroups,
                .groups = kGroups,
                .k = k,
                .m = rows,
                .f32 = x.data(),
                .q = q.data(),
                .scale = scale.data(),
                .sum = sum.data(),
                .y = y.data(),
                .ldy = kOutputs,
                .last_rows = 9,
                .few_rows_in_pairs = true});  // so three groups are a pair and one alone
    return y;
  };
  // A row does not depend on how many there are, so one truth serves every tile size.
  const std::vector<float> expected = multiply(truth, kRows);
  for (int rows = 1; rows <= kRows; ++rows) {
    if (std::memcmp(multiply(kernels, rows).data(), expected.data(),
                    sizeof(float) * rows * kOutputs) != 0)
      return false;
  }
  return true;
}

// The results of one op, as bytes to compare.
using Bytes = std::string;
template <typename T>
void Append(const T* data, size_t n, Bytes& out) {
  out.append(reinterpret_cast<const char*>(data), n * sizeof(T));
}

Bytes RunRowWise(const Ops& ops, void (*Ops::*op)(const float*, int64_t, float*)) {
  std::vector<float> x = Floats(6, 40), y(x.size());
  for (float& value : x) value = value < 0 ? -value : value;
  (ops.*op)(x.data(), x.size(), y.data());
  Bytes out;
  Append(y.data(), y.size(), out);
  return out;
}

Bytes RunAttention(const Ops& ops, KvType type) {
  constexpr int kHeads = 4, kKvHeads = 2, kDim = 32, kPositions = 300, kBlocks = 19, kRows = 2;
  Aligned<std::byte> keys(kBlocks * KvBlockBytes(type, kKvHeads, kDim)), values(keys.size());
  const KvLayer layer = DenseKvLayer(type, keys.data(), values.data(), kKvHeads, kDim);
  std::vector<int32_t> blocks(kBlocks);
  for (int i = 0; i < kBlocks; ++i) blocks[i] = kBlocks - 1 - i;
  for (int slot = 0; slot < kPositions; ++slot) {
    const std::vector<float> k = Floats(100 + slot, kKvHeads * kDim);
    const std::vector<float> v = Floats(500 + slot, kKvHeads * kDim);
    ops.kv_store(layer, blocks[slot / kKvBlock], slot % kKvBlock, k.data(), v.data());
  }
  // A row of the committed prefix and a tree row that skips its sibling's slot.
  const int32_t extra[] = {kPositions - 1};
  const RowView views[kRows] = {{kPositions - 1, nullptr, 0}, {kPositions - 2, extra, 1}};
  Aligned<float> q(kRows * kHeads * kDim), out(q.size());
  for (size_t i = 0; i < q.size(); ++i) q[i] = Uniform(7, i);
  const AttentionArgs args = {.layer = layer,
                              .blocks = blocks.data(),
                              .q = q.data(),
                              .out = out.data(),
                              .views = views,
                              .rows = kRows,
                              .heads = kHeads,
                              .scale = 0.25f};
  Aligned<std::byte> scratch(AttentionScratchBytes(args));
  Aligned<float> partials(AttentionPartialsFloats(args));
  Bytes bytes;
  Append(keys.data(), keys.size(), bytes);
  Append(values.data(), values.size(), bytes);
  for (int head = 0; head < kKvHeads; ++head) ops.attention(args, head, 0, kRows, scratch.data());
  Append(out.data(), out.size(), bytes);
  for (int head = 0; head < kKvHeads; ++head) {
    ops.attention_partials(args, head, 0, kRows, 0, 2, partials.data(), scratch.data());
    ops.attention_merge(args, head, 0, kRows, partials.data());
  }
  Append(out.data(), out.size(), bytes);
  return bytes;
}

// Compares op by op: `run` gives the bytes of a table's results, `use_truth` replaces the op.
class OpChecker {
 public:
  explicit OpChecker(std::vector<std::string>& distrusted) : distrusted_(distrusted) {}

  template <typename Table, typename Run, typename... Members>
  void Check(const char* name, const Table& truth, Table& table, Run run, Members... members) {
    if (run(truth) == run(table)) return;
    ((table.*members = truth.*members), ...);
    distrusted_.push_back(name);
  }

 private:
  std::vector<std::string>& distrusted_;
};

void CheckOps(const Ops& truth, Ops& ops, std::vector<std::string>& distrusted) {
  OpChecker checker(distrusted);
  const std::vector<float> a = Floats(8, 100), b = Floats(9, 100);
  // Fills y with what the op makes of a and b.
  const auto fill = [&](auto op) {
    return [&, op](const Ops& table) {
      std::vector<float> y = a;
      op(table, y.data());
      Bytes out;
      Append(y.data(), y.size(), out);
      return out;
    };
  };
  const int n = static_cast<int>(a.size());
  checker.Check("rms_norm", truth, ops,
                fill([&](const Ops& t, float* y) { t.rms_norm(a.data(), b.data(), 1e-5f, n, y); }),
                &Ops::rms_norm);
  checker.Check("silu_mul", truth, ops,
                fill([&](const Ops& t, float* y) { t.silu_mul(a.data(), b.data(), n, y); }),
                &Ops::silu_mul);
  checker.Check("add_in_place", truth, ops,
                fill([&](const Ops& t, float* y) { t.add_in_place(y, b.data(), n); }),
                &Ops::add_in_place);
  checker.Check("rope", truth, ops, fill([&](const Ops& t, float* y) {
                  t.rope(y, 2, 48, 20, b.data(), true);
                  t.rope(y, 2, 48, 20, b.data(), false);
                }),
                &Ops::rope);
  checker.Check("arg_max", truth, ops, fill([&](const Ops& t, float* y) {
                  y[0] = static_cast<float>(t.arg_max(a.data(), n));
                }),
                &Ops::arg_max);
  checker.Check("softmax_stats", truth, ops, fill([&](const Ops& t, float* y) {
                  const MaxSum stats = t.softmax_stats(a.data(), n);
                  y[0] = stats.max;
                  y[1] = stats.sum;
                }),
                &Ops::softmax_stats);
  checker.Check("gumbel_row", truth, ops,
                fill([&](const Ops& t, float* y) { t.gumbel_row(11, 1, 12, 5, n, y); }),
                &Ops::gumbel_row);
  checker.Check(
      "exp_row", truth, ops, [](const Ops& t) { return RunRowWise(t, &Ops::exp_row); },
      &Ops::exp_row);
  checker.Check(
      "log_row", truth, ops, [](const Ops& t) { return RunRowWise(t, &Ops::log_row); },
      &Ops::log_row);
  checker.Check(
      "log1p_row", truth, ops, [](const Ops& t) { return RunRowWise(t, &Ops::log1p_row); },
      &Ops::log1p_row);
  const auto attention = [](const Ops& t) {
    Bytes all;
    for (KvType type : {KvType::kF16, KvType::kF32, KvType::kQ8_0}) all += RunAttention(t, type);
    return all;
  };
  checker.Check("attention", truth, ops, attention, &Ops::kv_store, &Ops::attention,
                &Ops::attention_partials, &Ops::attention_merge);
}

void CheckRowOps(const RowOps& truth, RowOps& ops, std::vector<std::string>& distrusted) {
  OpChecker checker(distrusted);
  std::vector<float> row = Floats(10, 70 * kLogitBlock - 9);
  for (float& x : row) x *= 8;
  std::vector<float> maxima(LogitBlocks(row.size()));
  truth.block_maxima(row.data(), row.size(), maxima.data());
  checker.Check(
      "block_maxima", truth, ops,
      [&](const RowOps& t) {
        std::vector<float> got(maxima.size());
        t.block_maxima(row.data(), row.size(), got.data());
        return got;
      },
      &RowOps::block_maxima);
  checker.Check(
      "above", truth, ops, [&](const RowOps& t) { return t.above(row.data(), 1.0f); },
      &RowOps::above);
  checker.Check(
      "mass_sum", truth, ops,
      [&](const RowOps& t) {
        return t.mass_sum(row.data(), row.size(), maxima.data(), 16.0f, 0.7f);
      },
      &RowOps::mass_sum);
  checker.Check(
      "mass_estimate", truth, ops,
      [&](const RowOps& t) {
        return t.mass_estimate(row.data(), row.size(), maxima.data(), 16.0f, 0.7f);
      },
      &RowOps::mass_estimate);
  checker.Check(
      "gumbel_block", truth, ops,
      [](const RowOps& t) {
        std::vector<float> noise(kLogitBlock);
        const bool none = t.gumbel_block(1, 2, 3, 64, -1.0f, noise.data());
        const bool some = t.gumbel_block(1, 2, 3, 64, 0x1p30f, noise.data());
        return std::make_tuple(none, some, noise);
      },
      &RowOps::gumbel_block);
}

SelfCheck Check() {
  const auto start = std::chrono::steady_clock::now();
  SetNumericsMode();
  SelfCheck check;
  check.kernels = KernelsOf(ActiveIsa());
  if (ActiveIsa() != Isa::kRef) {
    Distrust(KernelsOf(Isa::kRef), check.kernels, check.distrusted);
  }
  for (const std::string& name : check.distrusted) {
    LogWarning(fmt::format(
        "on this CPU ({}) the {} kernel {} gives other bits than the scalar reference, which now "
        "runs in its place: same text, less speed. Please report this; HUNCH_ISA picks another "
        "instruction set",
        CpuName(), check.kernels.matmul.isa, name));
  }
  check.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return check;
}

}  // namespace

KernelSet KernelsOf(Isa isa) {
  const auto matmul = [isa]() -> const MatMulKernels& {
    switch (isa) {
#if defined(__x86_64__)
      case Isa::kAvx2:
        return MatMulKernelsAvx2();
      case Isa::kAvx512:
        return MatMulKernelsAvx512();
#elif defined(__aarch64__)
      case Isa::kNeon:
        return MatMulKernelsNeon();
#endif
      default:
        return MatMulKernelsRef();
    }
  };
  return {matmul(), *OpsFor(isa), *RowOpsFor(isa)};
}

void Distrust(const KernelSet& truth, KernelSet& kernels, std::vector<std::string>& distrusted) {
  for (const TypeTraits& weights : KnownTypes()) {
    if (SameMatMul(weights.type, truth.matmul, kernels.matmul)) continue;
    kernels.scalar_types |= 1u << static_cast<int>(weights.type);
    distrusted.push_back(fmt::format("mat_mul {}", weights.name));
  }
  OpChecker(distrusted)
      .Check(
          "quantize_row", truth.matmul, kernels.matmul,
          [](const MatMulKernels& t) {
            const std::vector<float> x = Floats(12, 96);
            std::vector<int8_t> q(96);
            std::vector<float> scale(3);
            std::vector<int16_t> sum(6);
            t.quantize_row(x.data(), 96, q.data(), scale.data(), sum.data());
            return std::make_tuple(q, scale, sum);
          },
          &MatMulKernels::quantize_row);
  CheckOps(truth.ops, kernels.ops, distrusted);
  CheckRowOps(truth.row_ops, kernels.row_ops, distrusted);
}

const SelfCheck& CheckedKernels() {
  static const SelfCheck check = Check();
  return check;
}

}  // namespace hunch

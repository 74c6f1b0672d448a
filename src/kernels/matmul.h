// Linear layers: y = x W^T for weights of any GGUF type, M rows at once, each weight read and
// unpacked once for all rows. The order of arithmetic per output element is docs/numerics.md; it
// does not depend on M, on the thread count or on the instruction set. Thread safety: PackedMatrix
// and ActRows are plain data; MatMul only reads them.
#ifndef HUNCH_KERNELS_MATMUL_H_
#define HUNCH_KERNELS_MATMUL_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "base/aligned_buffer.h"
#include "base/isa.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "quant/types.h"

namespace hunch {

// Output rows per group: a SIMD lane is an output row (16 = one AVX-512 register, two AVX2 ones).
inline constexpr int kGroupRows = 16;
// Weights per activation block.
inline constexpr int kActBlock = 32;

// A weight matrix [rows][columns] repacked for the kernels: groups of 16 rows, interleaved.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  // `file_bytes` is the tensor as GGUF holds it. Rows are padded to whole groups with zeros.
  // Fails when columns do not fit the type's block, or memory is short. `memory`: PackedBytes
  // bytes, aligned to 64, zero, that outlive the matrix; null: the matrix has its own.
  // `after_slab` is called whenever another 16 MiB of file_bytes were read for the last time.
  static Result<PackedMatrix> Pack(TensorType type, int64_t rows, int64_t columns,
                                   std::span<const std::byte> file_bytes, ThreadPool& pool,
                                   std::byte* memory = nullptr,
                                   const std::function<void()>& after_slab = nullptr);
  static size_t PackedBytes(TensorType type, int64_t rows, int64_t columns);

  TensorType type() const { return type_; }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  int64_t groups() const { return (rows_ + kGroupRows - 1) / kGroupRows; }
  size_t bytes() const { return bytes_; }
  const std::byte* data() const { return data_; }
  // The dequantised row, equal to quant/'s Dequantize of it: out[columns].
  void UnpackRow(int64_t row, float* out) const;

 private:
  TensorType type_ = TensorType::kF32;
  int64_t rows_ = 0, columns_ = 0;
  const std::byte* data_ = nullptr;  // [bytes_]
  size_t bytes_ = 0;
  AlignedBuffer own_;  // what data_ points into, unless that is the caller's
};

// The rows that multiply: fp32 and, for quantised weights, int8 per row and block of 32.
// Plain views into the caller's scratch; every pointer is 64-byte aligned and k is a multiple of 32
// when q is used.
struct ActRows {
  int m = 0;
  int64_t k = 0;
  const float* f32 = nullptr;    // [m][k]
  const int8_t* q = nullptr;     // [m][k]
  const float* scale = nullptr;  // [m][k/32]
  const int16_t* sum = nullptr;  // [m][k/16]: sum of every 16 q (at most 16 * 127)
};

// Quantises one row of x[k] as docs/numerics.md says; k is a multiple of 32. An x that is not
// finite makes its block's scale Inf or NaN and its q 0, so that every output of the row is NaN on
// every instruction set; a block so small that 127 / absmax overflows has its q clamped to
// -127..127.
void QuantizeRow(const float* x, int64_t k, int8_t* q, float* scale, int16_t* sum);
// Whether this weight type multiplies q (else f32).
bool UsesQuantizedActs(TensorType type);

// y[r][n - 0] for every row r of x and every output n of groups [group_begin, group_end):
// y + r * ldy + n. Outputs past rows() are not written.
void MatMul(const PackedMatrix& w, const ActRows& x, float* y, int64_t ldy, int64_t group_begin,
            int64_t group_end);
// The name of the instruction set whose kernels MatMul and QuantizeRow run, from those kernels
// themselves: the evidence that a forced HUNCH_ISA was obeyed.
std::string_view MatMulIsaName();
// The same on a stated instruction set, for tests. pairs: whether few rows take two groups side by
// side; nothing: as on this CPU.
void MatMulOn(Isa isa, const PackedMatrix& w, const ActRows& x, float* y, int64_t ldy,
              int64_t group_begin, int64_t group_end, std::optional<bool> pairs = {});
void QuantizeRowOn(Isa isa, const float* x, int64_t k, int8_t* q, float* scale, int16_t* sum);

}  // namespace hunch

#endif  // HUNCH_KERNELS_MATMUL_H_

// PackedMatrix: the whole-matrix loops over pack.h's chunks.
#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <limits>

#include "kernels/matmul.h"
#include "kernels/pack.h"
#include "kernels/pack_layout.h"
#include "quant/quant.h"

namespace hunch {
namespace {

bool IsPlain(TensorType type) { return PackLayoutOf(type).scales == ScaleKind::kNone; }

int64_t GroupBytes(TensorType type, int64_t columns) {
  const PackLayout layout = PackLayoutOf(type);
  return columns / layout.chunk_weights * layout.chunk_bytes;
}

// `file` is the first of `rows` (at most 16) rows of row_bytes each.
void PackQuantisedGroup(TensorType type, int rows, int64_t row_bytes, const std::byte* file,
                        std::byte* group) {
  const TypeTraits& traits = GetTypeTraits(type);
  const int chunk_bytes = PackLayoutOf(type).chunk_bytes;
  BlockCodes blocks[kGroupRows];
  for (int row = rows; row < kGroupRows; ++row) blocks[row] = ZeroBlock(type);
  for (int64_t at = 0; at < row_bytes; at += traits.block_bytes, group += chunk_bytes) {
    for (int row = 0; row < rows; ++row)
      UnpackCodes(type, file + row * row_bytes + at, &blocks[row]);
    PackChunk(type, blocks, group);
  }
}

// Elements of `size` bytes.
void PackPlainGroup(int size, int rows, int64_t columns, const std::byte* file, std::byte* group) {
  for (int row = 0; row < rows; ++row) {
    const std::byte* from = file + row * columns * size;
    for (int64_t k = 0; k < columns; ++k) {
      std::memcpy(group + (kGroupRows * k + row) * size, from + k * size,
                  static_cast<size_t>(size));
    }
  }
}

}  // namespace

size_t PackedMatrix::PackedBytes(TensorType type, int64_t rows, int64_t columns) {
  return static_cast<size_t>((rows + kGroupRows - 1) / kGroupRows * GroupBytes(type, columns));
}

Result<PackedMatrix> PackedMatrix::Pack(TensorType type, int64_t rows, int64_t columns,
                                        std::span<const std::byte> file_bytes, ThreadPool& pool,
                                        std::byte* memory,
                                        const std::function<void()>& after_slab) {
  const TypeTraits& traits = GetTypeTraits(type);
  // The file's own size bounds rows * columns, so that nothing below can overflow.
  if (rows < 1 || columns < 1 || columns > std::numeric_limits<int32_t>::max() ||
      columns % traits.block_elements != 0) {
    return Error{
        ErrorCode::kBadFile,
        fmt::format("a {} matrix of {} rows x {} columns: both must be positive and columns "
                    "a multiple of {}",
                    traits.name, rows, columns, traits.block_elements)};
  }
  const auto row_bytes = static_cast<int64_t>(BytesOf(type, columns));
  const auto whole_rows = static_cast<int64_t>(file_bytes.size()) / row_bytes;
  if (whole_rows != rows || file_bytes.size() % static_cast<size_t>(row_bytes) != 0) {
    return Error{ErrorCode::kBadFile,
                 fmt::format("a {} matrix of {} rows x {} columns takes {} bytes per row, but the "
                             "tensor has {} bytes in all",
                             traits.name, rows, columns, row_bytes, file_bytes.size())};
  }
  PackedMatrix matrix;
  matrix.bytes_ = PackedBytes(type, rows, columns);
  if (memory == nullptr) {
    HUNCH_ASSIGN_OR_RETURN(matrix.own_, AlignedBuffer::Create(matrix.bytes_));
    memory = matrix.own_.data();
  }
  matrix.data_ = memory;
  matrix.type_ = type;
  matrix.rows_ = rows;
  matrix.columns_ = columns;
  const int64_t group_bytes = GroupBytes(type, columns);
  constexpr int64_t kSlabBytes = 16 << 20;
  const int64_t slab = std::max<int64_t>(1, kSlabBytes / (kGroupRows * row_bytes));
  const auto pack = [&](const Range& range) {
    for (int64_t group = range.begin; group < range.end; ++group) {
      const std::byte* from = file_bytes.data() + group * kGroupRows * row_bytes;
      std::byte* to = memory + group * group_bytes;
      const auto count = static_cast<int>(std::min<int64_t>(kGroupRows, rows - group * kGroupRows));
      if (IsPlain(type))
        PackPlainGroup(traits.block_bytes, count, columns, from, to);
      else
        PackQuantisedGroup(type, count, row_bytes, from, to);
    }
  };
  for (int64_t first = 0; first < matrix.groups(); first += slab) {
    const int64_t count = std::min(slab, matrix.groups() - first);
    pool.Run([&](int thread, int threads) {
      const Range part = Partition(count, thread, threads);
      pack({first + part.begin, first + part.end});
    });
    if (after_slab) after_slab();
  }
  return matrix;
}

void PackedMatrix::UnpackRow(int64_t row, float* out) const {
  HUNCH_CHECK(row >= 0 && row < rows_) << "row " << row << " of " << rows_;
  const PackLayout layout = PackLayoutOf(type_);
  const std::byte* group = data() + row / kGroupRows * GroupBytes(type_, columns_);
  const auto lane = static_cast<int>(row % kGroupRows);
  if (IsPlain(type_)) {
    const int size = GetTypeTraits(type_).block_bytes;
    for (int64_t k = 0; k < columns_; ++k) {
      Dequantize(type_, {group + (kGroupRows * k + lane) * size, static_cast<size_t>(size)},
                 {out + k, 1});
    }
    return;
  }
  BlockCodes block;
  for (int64_t k = 0; k < columns_; k += block.elements, group += layout.chunk_bytes) {
    UnpackChunk(type_, group, lane, &block);
    for (int i = 0; i < block.elements; ++i) {
      const int g = i / block.group_elements;
      const float product = block.scale[g] * static_cast<float>(block.codes[i]);
      out[k + i] = block.has_offset ? product + block.offset[g] : product;
    }
  }
}

bool UsesQuantizedActs(TensorType type) { return !IsPlain(type); }

}  // namespace hunch

// Matrices made smaller on their way from the file to the kernels: fewer bits, fewer rows. Pure but
// for the threads it uses.
#ifndef HUNCH_MODEL_SHRINK_H_
#define HUNCH_MODEL_SHRINK_H_

#include <span>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "model/weights.h"
#include "weights/gguf.h"

namespace hunch {

// What a matrix of the file becomes.
struct MatrixForm {
  TensorType type;
  std::span<const TokenId> kept;  // rows; empty: all
  int64_t rows(const GgufTensor& tensor) const {
    return kept.empty() ? tensor.rows() : static_cast<int64_t>(kept.size());
  }
  bool changes(const GgufTensor& tensor) const { return type != tensor.type || !kept.empty(); }
};

// output: whether it is the matrix that gives the logits.
MatrixForm FormOf(const GgufTensor& tensor, bool output, const LoadOptions& options);

// The matrix in that form, as a file would hold it. Every kept row must be one of the tensor's.
Result<AlignedBuffer> Shrink(const GgufTensor& tensor, const MatrixForm& form, ThreadPool& pool);
// The bytes that Shrink gives.
uint64_t ShrunkBytes(const GgufTensor& tensor, const MatrixForm& form);

}  // namespace hunch

#endif  // HUNCH_MODEL_SHRINK_H_

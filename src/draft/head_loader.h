// HeadLoader: tensors of a head file to weights in memory. Not thread safe.
#ifndef HUNCH_DRAFT_HEAD_LOADER_H_
#define HUNCH_DRAFT_HEAD_LOADER_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "draft/head_file.h"
#include "kernels/matmul.h"
#include "weights/gguf.h"

namespace hunch {

// What a head's packed matrices take, one after the other.
size_t HeadMatrixBytes(const GgufFile& file, const HeadConfig& config);
// And its vectors.
size_t HeadVectorBytes(const HeadConfig& config);

class HeadLoader {
 public:
  // `memory`: HeadMatrixBytes, zero, that outlive the matrices.
  HeadLoader(const GgufFile& file, ThreadPool& pool, AlignedBuffer& memory)
      : file_(file), pool_(pool), memory_(memory.data()) {}

  // What ReadHeadConfig has checked is there and of the right shape; the others give nothing.
  std::vector<float> Vector(std::string_view name);
  // Each matrix once, in the order in which a pass reads them.
  Status Take(std::string_view name, PackedMatrix& matrix);

 private:
  const GgufFile& file_;
  ThreadPool& pool_;
  std::byte* memory_;  // where the next matrix goes
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_HEAD_LOADER_H_

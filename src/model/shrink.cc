#include "model/shrink.h"

#include <cstring>

#include "kernels/pack_layout.h"
#include "quant/quant.h"
#include "quant/quantize.h"

namespace hunch {

MatrixForm FormOf(const GgufTensor& tensor, bool output, const LoadOptions& options) {
  MatrixForm form = {tensor.type, {}};
  const bool fits = tensor.columns() % GetTypeTraits(TensorType::kQ4_0).block_elements == 0;
  if (options.requantize_q4_0 && fits && PackLayoutOf(tensor.type).code_bits > 4) {
    form.type = TensorType::kQ4_0;
  }
  if (output) form.kept = options.kept_tokens;
  return form;
}

uint64_t ShrunkBytes(const GgufTensor& tensor, const MatrixForm& form) {
  return BytesOf(form.type, tensor.columns()) * static_cast<uint64_t>(form.rows(tensor));
}

Result<AlignedBuffer> Shrink(const GgufTensor& tensor, const MatrixForm& form, ThreadPool& pool) {
  HUNCH_CHECK(form.type == tensor.type || form.type == TensorType::kQ4_0);
  HUNCH_ASSIGN_OR_RETURN(AlignedBuffer shrunk, AlignedBuffer::Create(ShrunkBytes(tensor, form)));
  const int64_t columns = tensor.columns();
  const size_t from_bytes = BytesOf(tensor.type, columns);
  const size_t to_bytes = BytesOf(form.type, columns);
  pool.Run([&](int thread, int threads) {
    std::vector<float> weights(static_cast<size_t>(columns));
    const Range mine = Partition(form.rows(tensor), thread, threads);
    for (int64_t row = mine.begin; row < mine.end; ++row) {
      const int64_t source = form.kept.empty() ? row : form.kept[static_cast<size_t>(row)];
      HUNCH_CHECK_LT(source, tensor.rows());
      const auto from = tensor.data.subspan(static_cast<size_t>(source) * from_bytes, from_bytes);
      std::byte* to = shrunk.data() + static_cast<size_t>(row) * to_bytes;
      if (form.type == tensor.type) {
        std::memcpy(to, from.data(), to_bytes);
      } else {
        Dequantize(tensor.type, from, weights);
        QuantizeQ4_0(weights, {to, to_bytes});
      }
    }
  });
  return shrunk;
}

}  // namespace hunch

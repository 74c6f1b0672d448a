#include "model/wide_rows.h"

#include <limits>

#include "base/check.h"
#include "kernels/row_ops.h"

namespace hunch {

WideRows::WideRows(std::span<const TokenId> kept, int vocab, int max_rows)
    : kept_(kept.begin(), kept.end()), vocab_(vocab) {
  if (kept_.empty()) return;
  HUNCH_CHECK_LT(kept_.back(), vocab);
  rows_.assign(static_cast<size_t>(max_rows * vocab_), -std::numeric_limits<float>::infinity());
  maxima_.resize(static_cast<size_t>(max_rows * LogitBlocks(vocab_)));
}

uint64_t WideRows::Bytes(int vocab, int max_rows) {
  return static_cast<uint64_t>(max_rows) * static_cast<uint64_t>(vocab + LogitBlocks(vocab)) *
         sizeof(float);
}

Logits WideRows::Widen(const Logits& cut, int rows) {
  const size_t columns = kept_.size();
  HUNCH_CHECK_LE(static_cast<size_t>(rows * vocab_), rows_.size());
  for (int r = 0; r < rows; ++r) {
    const float* from = cut.rows + static_cast<size_t>(r) * columns;
    float* to = rows_.data() + r * vocab_;
    for (size_t i = 0; i < columns; ++i) to[kept_[i]] = from[i];
    BlockMaxima(to, vocab_, maxima_.data() + r * LogitBlocks(vocab_));
  }
  return {rows_.data(), maxima_.data()};
}

}  // namespace hunch

// WideRows: the logits of a model that was cut to some tokens (LoadOptions::kept_tokens), as wide
// as the vocabulary again. The tokens that were cut away have -inf. Not thread safe.
#ifndef HUNCH_MODEL_WIDE_ROWS_H_
#define HUNCH_MODEL_WIDE_ROWS_H_

#include <span>
#include <vector>

#include "model/model.h"
#include "seq/types.h"

namespace hunch {

class WideRows {
 public:
  // kept: ascending, all below vocab; empty: it holds nothing and widens nothing. Room for
  // max_rows.
  WideRows(std::span<const TokenId> kept, int vocab, int max_rows);
  // What it holds besides the tokens.
  static uint64_t Bytes(int vocab, int max_rows);

  // `rows` rows of one column for each kept token. Valid until the next call.
  Logits Widen(const Logits& cut, int rows);

 private:
  std::vector<TokenId> kept_;
  int64_t vocab_;
  std::vector<float> rows_;    // [max_rows][vocab]; -inf wherever no kept token is
  std::vector<float> maxima_;  // [max_rows][LogitBlocks(vocab)]
};

}  // namespace hunch

#endif  // HUNCH_MODEL_WIDE_ROWS_H_

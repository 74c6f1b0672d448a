// TapReader: the target reads texts, as many rows in a pass as it can have, and what it computes at
// its taps is handed over. Rows do not depend on which others are in their pass (docs/numerics.md),
// so these are the very rows that a head reads in service. Not thread safe.
#ifndef HUNCH_TRAIN_TAP_READER_H_
#define HUNCH_TRAIN_TAP_READER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "kv/block_pool.h"
#include "learn/feature_rows.h"
#include "model/model.h"
#include "seq/types.h"

namespace hunch {

class TapReader {
 public:
  // taps: layers, ascending; the output matrix's input comes after them. Texts of at most
  // most_tokens. `model` must outlive the reader.
  static Result<std::unique_ptr<TapReader>> Create(Model& model, std::vector<int> taps,
                                                   int most_tokens);

  const FeatureLayout& layout() const { return layout_; }
  // Rows of some of the texts' tokens, in the order of the texts; false: stop.
  using OnRows = std::function<Result<bool>(std::span<const std::byte> rows)>;
  // True: all texts were read.
  Result<bool> Read(std::span<const std::span<const TokenId>> texts, const OnRows& on_rows);

 private:
  // A text that is being read.
  struct Part {
    Part(BlockPool& pool, std::span<const TokenId> tokens) : table(pool), left(tokens) {}
    BlockTable table;
    std::span<const TokenId> left;
  };

  TapReader(Model& model, std::vector<int> taps, ModelKv kv, int blocks);
  Result<bool> Pass(const OnRows& on_rows);

  Model& model_;
  const std::vector<int> taps_;
  const FeatureLayout layout_;
  ModelKv kv_;
  BlockPool pool_;
  FeaturePacker packer_;
  std::vector<float> hidden_;    // [sources][rows of a pass][hidden]
  std::vector<std::byte> rows_;  // [rows of a pass][row_bytes]
  std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace hunch

#endif  // HUNCH_TRAIN_TAP_READER_H_

// FeatureStore: rows of hidden states (feature_rows.h) in a file, so that the target reads each
// text once and not in every epoch. It grows row by row and survives a kill; what a kill left of a
// row is cut off. It can be made again from the texts, so one of other texts is emptied. Not thread
// safe.
#ifndef HUNCH_TRAIN_FEATURE_STORE_H_
#define HUNCH_TRAIN_FEATURE_STORE_H_

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "learn/append_file.h"
#include "learn/feature_rows.h"

namespace hunch {

class FeatureStore {
 public:
  // key: of the texts, the target and the taps.
  static Result<FeatureStore> Open(const std::string& path, const FeatureLayout& layout,
                                   uint64_t key);
  // The rows that fit into so many bytes.
  static int64_t RowsIn(uint64_t bytes, const FeatureLayout& layout);

  const FeatureLayout& layout() const { return layout_; }
  int64_t rows() const;
  // Whole rows.
  Status Append(std::span<const std::byte> rows);
  // Forgets what lies after the first `rows`.
  Status Cut(int64_t rows);
  // out: whole rows, from first_row on, all below rows().
  Status Read(int64_t first_row, std::span<std::byte> out) const;

 private:
  FeatureStore(AppendFile file, const FeatureLayout& layout)
      : file_(std::move(file)), layout_(layout) {}

  AppendFile file_;
  FeatureLayout layout_;
};

}  // namespace hunch

#endif  // HUNCH_TRAIN_FEATURE_STORE_H_

// Features: what the target computed for any text of a set, from the disk as far as the cap on it
// allows, else by reading the text again. The bits are the same. Not thread safe.
//
// FeatureSource: whoever has the rows of a set's texts.
#ifndef HUNCH_TRAIN_FEATURES_H_
#define HUNCH_TRAIN_FEATURES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "train/feature_store.h"
#include "train/tap_reader.h"
#include "train/train_set.h"

namespace hunch {

// The rows read so far, of so many; false: stop.
using OnFeatures = std::function<bool(int64_t rows, int64_t all)>;

class FeatureSource {
 public:
  virtual ~FeatureSource() = default;
  virtual const FeatureLayout& layout() const = 0;
  // rows = those of `text`, each row_bytes.
  virtual Status Read(const PlacedText& text, std::vector<std::byte>& rows) = 0;
};

class Features : public FeatureSource {
 public:
  // make_reader: loads the target; called only if some text has to be read. cap: bytes on the disk.
  using MakeReader = std::function<Result<std::unique_ptr<TapReader>>()>;
  static Result<std::unique_ptr<Features>> Open(const std::string& path,
                                                const FeatureLayout& layout, uint64_t key,
                                                uint64_t cap, MakeReader make_reader);

  const FeatureLayout& layout() const override { return store_.layout(); }
  // Puts the rows of the texts, which are those of a set, on the disk, as far as the cap goes.
  // True: all of these are there.
  Result<bool> Fill(std::span<const PlacedText> texts, const OnFeatures& on_progress);
  Status Read(const PlacedText& text, std::vector<std::byte>& rows) override;

 private:
  Features(FeatureStore store, int64_t most_rows, MakeReader make_reader)
      : store_(std::move(store)), most_rows_(most_rows), make_reader_(std::move(make_reader)) {}
  Result<TapReader*> Reader();

  FeatureStore store_;
  const int64_t most_rows_;  // on the disk
  MakeReader make_reader_;
  std::unique_ptr<TapReader> reader_;
};

}  // namespace hunch

#endif  // HUNCH_TRAIN_FEATURES_H_

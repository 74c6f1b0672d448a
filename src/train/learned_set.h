// LearnedSet: what a server kept of its own texts (learn/segment_file.h) as something to train on:
// the texts of a set and their rows, which lie in the segments. Immutable.
#ifndef HUNCH_TRAIN_LEARNED_SET_H_
#define HUNCH_TRAIN_LEARNED_SET_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "learn/segment_file.h"
#include "train/features.h"
#include "train/train_set.h"

namespace hunch {

class LearnedSet : public FeatureSource {
 public:
  // Of the newest texts, at most most_rows rows. steps: as MakeTrainSet's. kInvalidArgument: they
  // are of another model or head, or too few.
  static Result<std::unique_ptr<LearnedSet>> Open(const std::string& folder,
                                                  const SegmentKind& kind, int vocab_size,
                                                  int64_t most_rows, int steps);

  const TrainSet& set() const { return set_; }
  const FeatureLayout& layout() const override { return layout_; }
  Status Read(const PlacedText& text, std::vector<std::byte>& rows) override;

 private:
  LearnedSet(SegmentReader reader, const FeatureLayout& layout)
      : reader_(std::move(reader)), layout_(layout) {}

  SegmentReader reader_;
  const FeatureLayout layout_;
  std::vector<TrainText> texts_;
  std::map<int64_t, size_t> by_row_;  // first row -> index of reader_.texts()
  TrainSet set_;
};

}  // namespace hunch

#endif  // HUNCH_TRAIN_LEARNED_SET_H_

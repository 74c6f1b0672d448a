// Student: what is trained, as far as the loop around it (train_head.h) has to know: a head or a
// draft model. Not thread safe.
#ifndef HUNCH_TRAIN_STUDENT_H_
#define HUNCH_TRAIN_STUDENT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "quant/types.h"
#include "train/head_trainer.h"
#include "train/train_set.h"

namespace hunch {

// Guesses of a chain when a student is judged, whatever number it was trained for.
inline constexpr int kJudgedSteps = 5;

class Student {
 public:
  virtual ~Student() = default;

  virtual std::string Kind() const = 0;
  // Its shape, in words, and a fingerprint of the file that it begins as, 0 for none: with its kind
  // all of it that decides over the bits that training gives.
  virtual std::string Settings() const = 0;
  virtual uint64_t From() const = 0;
  // Names and values, for a page.
  virtual std::vector<std::pair<std::string, std::string>> Facts() const = 0;
  // Layers of the target whose output it reads.
  virtual std::vector<int> Taps() const { return {}; }
  virtual int JudgedSteps() const { return kJudgedSteps; }
  // What of it is learned.
  virtual std::vector<HeadTensor> Tensors() const = 0;

  // Before all that follows.
  virtual Status Begin(const TrainSet&, FeatureSource&) { return Ok{}; }
  // The weights to begin with; none: the trainer's own, which know nothing.
  virtual std::optional<HeadState> First() const = 0;
  virtual Result<HeadBatch> Batch(std::span<const PlacedText> texts, int steps,
                                  FeatureSource& features) const = 0;
  // The file that drafters load, its matrices as `type`.
  virtual Status Export(const std::string& path, const HeadState& state, TensorType type) const = 0;
};

}  // namespace hunch

#endif  // HUNCH_TRAIN_STUDENT_H_

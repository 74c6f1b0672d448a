// HeadStudent: a head in training, a new one or one to go on from. Not thread safe.
#ifndef HUNCH_TRAIN_HEAD_STUDENT_H_
#define HUNCH_TRAIN_HEAD_STUDENT_H_

#include <string>
#include <utility>
#include <vector>

#include "train/student.h"

namespace hunch {

class HeadStudent : public Student {
 public:
  // from: of the head to begin with (ImportHead); none: a new one. `target` must outlive it.
  HeadStudent(HeadConfig config, const TargetRows& target, std::optional<HeadState> from)
      : config_(std::move(config)), target_(target), from_(std::move(from)) {}

  std::string Kind() const override { return std::string(HeadKindName(config_.kind)); }
  std::string Settings() const override;
  uint64_t From() const override;
  std::vector<std::pair<std::string, std::string>> Facts() const override;
  std::vector<int> Taps() const override { return config_.taps; }
  int JudgedSteps() const override {
    return config_.kind == HeadKind::kMedusa ? config_.medusa_heads : kJudgedSteps;
  }
  std::vector<HeadTensor> Tensors() const override;
  Status Begin(const TrainSet& set, FeatureSource& features) override;
  std::optional<HeadState> First() const override;
  Result<HeadBatch> Batch(std::span<const PlacedText> texts, int steps,
                          FeatureSource& features) const override;
  Status Export(const std::string& path, const HeadState& state, TensorType type) const override;

 private:
  const HeadConfig config_;
  const TargetRows& target_;
  const std::optional<HeadState> from_;
  // What training multiplies fc's inputs with, so that they become of one size. [tap_size]
  std::vector<float> tap_inverse_;
};

}  // namespace hunch

#endif  // HUNCH_TRAIN_HEAD_STUDENT_H_

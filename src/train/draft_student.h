// DraftStudent: a draft model in training, which learns to give the target's own rows: one that
// there is, or a copy of a model with fewer layers. All of its weights are learned. Not thread
// safe.
#ifndef HUNCH_TRAIN_DRAFT_STUDENT_H_
#define HUNCH_TRAIN_DRAFT_STUDENT_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/config.h"
#include "train/student.h"
#include "weights/gguf.h"

namespace hunch {

class DraftStudent : public Student {
 public:
  // source: a model with the target's vocabulary (VocabularyDifference is the caller's). layers:
  // those of it that are kept; one number: so many (KeptLayers); none: all. `target` must outlive
  // it. kInvalidArgument: the source has no such layers. kUnsupported: it has too few tokens.
  static Result<std::unique_ptr<DraftStudent>> Create(std::shared_ptr<const GgufFile> source,
                                                      std::vector<int> layers,
                                                      const TargetRows& target,
                                                      const VocabularyId& vocabulary);

  // What its trainer begins with.
  DraftStart Start(int threads) const;

  std::string Kind() const override { return "draft"; }
  std::string Settings() const override;
  uint64_t From() const override { return FingerprintOf(*source_); }
  std::vector<std::pair<std::string, std::string>> Facts() const override;
  std::vector<HeadTensor> Tensors() const override;
  std::optional<HeadState> First() const override;
  Result<HeadBatch> Batch(std::span<const PlacedText> texts, int steps,
                          FeatureSource& features) const override;
  // All keys of the source, but for those that say how many layers it has and of which type.
  Status Export(const std::string& path, const HeadState& state, TensorType type) const override;

  const ModelConfig& config() const { return config_; }
  int tokens() const { return tokens_; }  // ids below it are guessed

 private:
  struct Kept {
    const GgufTensor* from;
    HeadTensor tensor;  // what becomes of it
  };

  DraftStudent(std::shared_ptr<const GgufFile> source, const TargetRows& target)
      : source_(std::move(source)), target_(target) {}
  void KeepTensors();

  const std::shared_ptr<const GgufFile> source_;
  const TargetRows& target_;
  ModelConfig config_;       // of what it becomes
  std::vector<int> layers_;  // of the source
  std::vector<Kept> kept_;   // in the order of the source
  int tokens_ = 0;
};

// The layers that `keep` of `layers` are: two thirds of them from the first on, the others up to
// the last. What lies between changes the residual stream least (arXiv 2403.17887).
std::vector<int> KeptLayers(int layers, int keep);

}  // namespace hunch

#endif  // HUNCH_TRAIN_DRAFT_STUDENT_H_

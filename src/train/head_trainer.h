// HeadTrainer: the part of training that computes: the weights of a head or of a draft model, their
// gradients and updates.
// Implemented on PyTorch's C++ library in files that end in _torch, which only `hunch-train` is
// built with; what drives it is tested with a fake. Not thread safe.
#ifndef HUNCH_TRAIN_HEAD_TRAINER_H_
#define HUNCH_TRAIN_HEAD_TRAINER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "draft/head_file.h"
#include "model/config.h"
#include "train/head_batch.h"
#include "train/judge.h"

namespace hunch {

// How matrices are multiplied. Weights, their updates, norms and softmax are fp32 either way.
enum class Precision { kF32, kBf16 };
inline std::string_view PrecisionName(Precision precision) {
  return precision == Precision::kF32 ? "f32" : "bf16";
}

// A weight with what AdamW (arXiv 1711.05101) keeps of its gradients.
struct WeightState {
  HeadTensor tensor;
  std::vector<float> value, mean, square;  // [rows][columns]; no mean and square: zeros
};

struct HeadState {
  int64_t updates = 0;
  std::vector<WeightState> weights;  // as HeadTensors has them; of a draft model all of its own
};

class HeadTrainer {
 public:
  virtual ~HeadTrainer() = default;

  virtual void SetPrecision(Precision precision) = 0;
  // One update. The mean loss over the answers' tokens, of all steps, weighted 1, 0.8, 0.64, ...
  virtual double Update(const HeadBatch& batch, double learning_rate) = 0;
  // The seconds that an update takes, without making it.
  virtual double TimeUpdate(const HeadBatch& batch) = 0;
  virtual HeadGuesses Guess(const HeadBatch& batch) = 0;

  virtual HeadState State() const = 0;
  // CHECKs that it is of what is trained.
  virtual void Restore(const HeadState& state) = 0;
};

// For tests: the loss of an update in fp32, and how it changes with each number of one weight.
struct LossAndGradient {
  double loss;
  std::vector<float> gradient;  // [rows][columns]
};

// What a head begins with.
struct HeadStart {
  HeadConfig config;
  uint64_t seed = 0;
  int threads = 1;
  std::vector<float> output;       // [config.output_rows()][hidden], of the target
  std::vector<float> output_norm;  // [hidden], of the target
};
using MakeHeadTrainer = std::function<std::unique_ptr<HeadTrainer>(const HeadStart&)>;

// What the trainer of a draft model begins with; its weights come with Restore.
struct DraftStart {
  ModelConfig config;
  std::vector<HeadTensor> tensors;
  int threads = 1;
  int target_hidden = 0;
  std::vector<float> target_output;  // [tokens that are guessed, from id 0 on][target_hidden]
};
using MakeDraftTrainer = std::function<std::unique_ptr<HeadTrainer>(const DraftStart&)>;

}  // namespace hunch

#endif  // HUNCH_TRAIN_HEAD_TRAINER_H_

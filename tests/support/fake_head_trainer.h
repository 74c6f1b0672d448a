// A HeadTrainer that computes nothing worth while but counts, and whose guesses a test dictates.
#ifndef HUNCH_TESTS_SUPPORT_FAKE_HEAD_TRAINER_H_
#define HUNCH_TESTS_SUPPORT_FAKE_HEAD_TRAINER_H_

#include <functional>
#include <vector>

#include "train/head_trainer.h"

namespace hunch {

class FakeHeadTrainer : public HeadTrainer {
 public:
  explicit FakeHeadTrainer(const HeadConfig& config) : FakeHeadTrainer(HeadTensors(config)) {}
  explicit FakeHeadTrainer(const std::vector<HeadTensor>& tensors) {
    for (const HeadTensor& tensor : tensors) {
      const size_t size = static_cast<size_t>(tensor.columns) * std::max<size_t>(1, tensor.rows);
      state_.weights.push_back({tensor, std::vector<float>(size, 0.25f), std::vector<float>(size),
                                std::vector<float>(size)});
    }
  }

  void SetPrecision(Precision precision) override { precision_ = precision; }
  // Folds everything that decides over the bits of a real head into one weight.
  double Update(const HeadBatch& batch, double learning_rate) override {
    ++state_.updates;
    if (on_update) on_update(state_.updates);
    float& weight = state_.weights.back().value[0];
    weight = weight * 0.75f + static_cast<float>(learning_rate) +
             static_cast<float>(batch.finals[0]) + static_cast<float>(batch.answers());
    return loss;
  }
  double TimeUpdate(const HeadBatch&) override {
    return precision_ == Precision::kF32 ? f32_seconds : bf16_seconds;
  }
  HeadGuesses Guess(const HeadBatch& batch) override {
    return HeadGuesses(batch.steps, std::vector<TokenId>(batch.asked(), guess()));
  }
  HeadState State() const override { return state_; }
  void Restore(const HeadState& state) override {
    state_ = state;
    for (WeightState& weight : state_.weights) {
      weight.mean.resize(weight.value.size());
      weight.square.resize(weight.value.size());
    }
  }

  Precision precision() const { return precision_; }

  double loss = 2;
  double f32_seconds = 2, bf16_seconds = 1;
  std::function<void(int64_t updates)> on_update;
  std::function<TokenId()> guess = [] { return 0; };  // of every row

 private:
  Precision precision_ = Precision::kF32;
  HeadState state_;
};

}  // namespace hunch

#endif  // HUNCH_TESTS_SUPPORT_FAKE_HEAD_TRAINER_H_

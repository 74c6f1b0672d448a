// TorchTrainer: what students of all kinds have in common when they are trained on PyTorch: the
// loss against the target's own probabilities, guesses, state. A kind adds its network. Private to
// the files that end in _torch. Not thread safe.
#ifndef HUNCH_TRAIN_HEAD_TRAINER_TORCH_H_
#define HUNCH_TRAIN_HEAD_TRAINER_TORCH_H_

#include <ATen/ATen.h>

#include <memory>
#include <string>
#include <vector>

#include "train/head_trainer.h"
#include "train/learned_weights_torch.h"

namespace hunch {

class TorchTrainer : public HeadTrainer {
 public:
  explicit TorchTrainer(const HeadStart& start);
  explicit TorchTrainer(const DraftStart& start);

  void SetPrecision(Precision precision) override { weights_.SetPrecision(precision); }
  double Update(const HeadBatch& batch, double learning_rate) override;
  double TimeUpdate(const HeadBatch& batch) override;
  HeadGuesses Guess(const HeadBatch& batch) override;
  HeadState State() const override { return weights_.State(); }
  void Restore(const HeadState& state) override { weights_.Restore(state); }

  // The loss. Its gradients are added to the weights'.
  double ForwardAndBackward(const HeadBatch& batch);
  // The same, and the gradients of one weight.
  LossAndGradient Gradient(const HeadBatch& batch, std::string_view weight);

 protected:
  // One batch through the network, but for its output matrices. Ends before the batch does.
  class Pass {
   public:
    virtual ~Pass() = default;
    // What the output matrix of `step` reads of those of the asked rows: [rows][hidden].
    virtual at::Tensor OutputInput(int step, const at::Tensor& rows) = 0;
    // The name of that matrix; "": it is the target's own.
    virtual std::string OutputName(int step) const = 0;
    // Whether OutputInput has to be what the target's output matrix reads.
    virtual bool ImitatesTarget() const { return false; }
    // Gradients have reached what OutputInput was made of: takes them to where they do not go by
    // themselves.
    virtual void Backward() {}
  };
  virtual std::unique_ptr<Pass> Run(const HeadBatch& batch) = 0;

  // The likeliest row of an output matrix, for each row of `input`.
  at::Tensor Best(const at::Tensor& input, const std::string& output);

  LearnedWeights weights_;

 private:
  // Over some answers' tokens, in all steps; fills their part of what the loss's gradients are made
  // of.
  struct Step;
  at::Tensor OutputMatrix(const std::string& name);
  at::Tensor Scores(const at::Tensor& input, const std::string& output);
  double ScoreSlice(const HeadBatch& batch, int64_t first, int64_t count, std::vector<Step>& steps);

  const at::Tensor target_output_;     // [rows][hidden]
  const std::vector<TokenId> tokens_;  // of these rows; empty: row i is token i
};

// The asked rows, among all rows of the batch.
at::Tensor AskedRows(const HeadBatch& batch);

}  // namespace hunch

#endif  // HUNCH_TRAIN_HEAD_TRAINER_TORCH_H_

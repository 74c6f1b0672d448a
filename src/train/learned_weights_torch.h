// LearnedWeights: a student's weights as torch tensors, their gradients, and AdamW (arXiv
// 1711.05101). Private to the files that end in _torch. Not thread safe.
#ifndef HUNCH_TRAIN_LEARNED_WEIGHTS_TORCH_H_
#define HUNCH_TRAIN_LEARNED_WEIGHTS_TORCH_H_

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/head_trainer.h"

namespace hunch {

// A copy of numbers, [rows][columns] or [columns].
at::Tensor TensorOf(std::span<const float> values, at::IntArrayRef shape);
// The numbers themselves, which must outlive the tensor.
at::Tensor ViewOf(std::span<const float> values, at::IntArrayRef shape);
at::Tensor ViewOf(std::span<const int64_t> values);

class LearnedWeights {
 public:
  // Norms are ones, biases zeros, matrices normal with rows of length 1, by `seed`; without one
  // zeros, for Restore.
  LearnedWeights(std::span<const HeadTensor> tensors, std::optional<uint64_t> seed);
  bool Has(std::string_view name) const { return index_.contains(name); }
  void Set(std::string_view name, std::span<const float> values);
  void Set(std::string_view name, const at::Tensor& values);

  // How matrices are multiplied from now on.
  void SetPrecision(Precision precision);
  at::ScalarType type() const { return type_; }
  // y = x W^T in fp32, multiplied in type().
  at::Tensor Linear(const at::Tensor& x, std::string_view name);
  // RMS norm of the rows of x.
  at::Tensor Norm(const at::Tensor& x, std::string_view name, double eps);
  const at::Tensor& Get(std::string_view name) const { return At(name).value; }
  // The weight in type(); gradients flow through it, also where it was first asked for without.
  const at::Tensor& Cast(std::string_view name);
  // Of the first rows of a matrix, times `factor`.
  void AddGradient(std::string_view name, const at::Tensor& gradient, double factor);

  // Nothing is left of the gradients, nor of what Linear keeps of weights that change.
  void ForgetGradients();
  // Moves the weights against their gradients, which are first cut to a length of 1 altogether.
  void Update(double learning_rate);

  HeadState State() const;
  void Restore(const HeadState& state);

 private:
  struct Weight {
    HeadTensor tensor;
    at::Tensor value;         // fp32, with gradient
    at::Tensor mean, square;  // of gradients
    at::Tensor cast;          // value in type_; undefined: not made since it changed
  };
  const Weight& At(std::string_view name) const;
  Weight& At(std::string_view name) {
    return const_cast<Weight&>(static_cast<const LearnedWeights*>(this)->At(name));
  }

  std::vector<Weight> weights_;
  std::map<std::string, size_t, std::less<>> index_;
  at::ScalarType type_ = at::kFloat;
  int64_t updates_ = 0;
};

}  // namespace hunch

#endif  // HUNCH_TRAIN_LEARNED_WEIGHTS_TORCH_H_

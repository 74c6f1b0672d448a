#include "train/learned_weights_torch.h"

#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace hunch {
namespace {

constexpr double kBeta1 = 0.9, kBeta2 = 0.95, kEpsilon = 1e-8;
constexpr double kWeightDecay = 0.01;  // of matrices
constexpr double kMostGradient = 1.0;  // length of all gradients together

std::vector<int64_t> ShapeOf(const HeadTensor& tensor) {
  return tensor.rows == 0 ? std::vector<int64_t>{tensor.columns}
                          : std::vector<int64_t>{tensor.rows, tensor.columns};
}

at::Tensor FirstValue(const HeadTensor& tensor, at::Generator& random) {
  const std::vector<int64_t> shape = ShapeOf(tensor);
  if (tensor.rows == 0) {
    return tensor.name.ends_with(".bias") ? at::zeros(shape) : at::ones(shape);
  }
  return at::randn(shape, random) / std::sqrt(static_cast<double>(tensor.columns));
}

std::vector<float> NumbersOf(const at::Tensor& tensor) {
  const float* const data = tensor.data_ptr<float>();
  return {data, data + tensor.numel()};
}

}  // namespace

at::Tensor TensorOf(std::span<const float> values, at::IntArrayRef shape) {
  return ViewOf(values, shape).clone();
}

at::Tensor ViewOf(std::span<const float> values, at::IntArrayRef shape) {
  return at::from_blob(const_cast<float*>(values.data()), shape, at::kFloat);
}

at::Tensor ViewOf(std::span<const int64_t> values) {
  return at::from_blob(const_cast<int64_t*>(values.data()), {static_cast<int64_t>(values.size())},
                       at::kLong);
}

LearnedWeights::LearnedWeights(std::span<const HeadTensor> tensors, std::optional<uint64_t> seed) {
  at::Generator random = at::detail::createCPUGenerator(seed.value_or(0));
  for (const HeadTensor& tensor : tensors) {
    if (tensor.optional) continue;
    Weight weight;
    weight.value = seed ? FirstValue(tensor, random) : at::zeros(ShapeOf(tensor));
    weight.value.set_requires_grad(true);
    weight.mean = at::zeros(ShapeOf(tensor));
    weight.square = at::zeros(ShapeOf(tensor));
    index_.emplace(tensor.name, weights_.size());
    weight.tensor = tensor;
    weights_.push_back(std::move(weight));
  }
}

const LearnedWeights::Weight& LearnedWeights::At(std::string_view name) const {
  const auto found = index_.find(name);
  HUNCH_CHECK(found != index_.end()) << name;
  return weights_[found->second];
}

void LearnedWeights::Set(std::string_view name, std::span<const float> values) {
  const Weight& weight = At(name);
  HUNCH_CHECK_EQ(static_cast<int64_t>(values.size()), weight.value.numel()) << name;
  Set(name, ViewOf(values, ShapeOf(weight.tensor)));
}

void LearnedWeights::Set(std::string_view name, const at::Tensor& values) {
  const c10::NoGradGuard no_grad;
  Weight& weight = At(name);
  HUNCH_CHECK(values.sizes() == weight.value.sizes()) << name;
  weight.value.copy_(values);
  weight.cast.reset();
}

void LearnedWeights::SetPrecision(Precision precision) {
  type_ = precision == Precision::kBf16 ? at::kBFloat16 : at::kFloat;
  for (Weight& weight : weights_) weight.cast.reset();
}

const at::Tensor& LearnedWeights::Cast(std::string_view name) {
  Weight& weight = At(name);
  if (!weight.cast.defined()) {
    const c10::AutoGradMode with_gradient(true);
    weight.cast = weight.value.to(type_);
  }
  return weight.cast;
}

void LearnedWeights::AddGradient(std::string_view name, const at::Tensor& gradient, double factor) {
  const Weight& weight = At(name);
  at::Tensor& sum = weight.value.mutable_grad();
  if (!sum.defined()) sum = at::zeros(ShapeOf(weight.tensor));
  sum.narrow(0, 0, gradient.size(0)).add_(gradient.detach(), factor);
}

at::Tensor LearnedWeights::Linear(const at::Tensor& x, std::string_view name) {
  return at::linear(x.to(type_), Cast(name)).to(at::kFloat);
}

at::Tensor LearnedWeights::Norm(const at::Tensor& x, std::string_view name, double eps) {
  return x * at::rsqrt(x.square().mean({-1}, /*keepdim=*/true) + eps) * At(name).value;
}

void LearnedWeights::ForgetGradients() {
  for (Weight& weight : weights_) {
    weight.value.mutable_grad().reset();
    weight.cast.reset();
  }
}

void LearnedWeights::Update(double learning_rate) {
  const c10::NoGradGuard no_grad;
  double squares = 0;
  for (const Weight& weight : weights_) {
    if (weight.value.grad().defined()) {
      squares += weight.value.grad().square().sum(at::kDouble).item<double>();
    }
  }
  const double cut = std::min(1.0, kMostGradient / std::max(std::sqrt(squares), 1e-12));
  ++updates_;
  const auto steps = static_cast<double>(updates_);
  const double mean_bias = 1 - std::pow(kBeta1, steps);
  const double square_bias = 1 - std::pow(kBeta2, steps);
  for (Weight& weight : weights_) {
    if (!weight.value.grad().defined()) continue;
    const at::Tensor gradient = weight.value.grad() * cut;
    if (weight.tensor.rows > 0) weight.value.mul_(1 - learning_rate * kWeightDecay);
    weight.mean.mul_(kBeta1).add_(gradient, 1 - kBeta1);
    weight.square.mul_(kBeta2).addcmul_(gradient, gradient, 1 - kBeta2);
    const at::Tensor root = (weight.square / square_bias).sqrt_().add_(kEpsilon);
    weight.value.addcdiv_(weight.mean, root, -learning_rate / mean_bias);
  }
  ForgetGradients();
}

HeadState LearnedWeights::State() const {
  HeadState state;
  state.updates = updates_;
  for (const Weight& weight : weights_) {
    state.weights.push_back({.tensor = weight.tensor,
                             .value = NumbersOf(weight.value),
                             .mean = NumbersOf(weight.mean),
                             .square = NumbersOf(weight.square)});
  }
  return state;
}

void LearnedWeights::Restore(const HeadState& state) {
  const c10::NoGradGuard no_grad;
  HUNCH_CHECK_EQ(state.weights.size(), weights_.size());
  for (const WeightState& from : state.weights) {
    Set(from.tensor.name, from.value);
    Weight& weight = At(from.tensor.name);
    for (const auto& [own, moment] :
         {std::pair(&weight.mean, &from.mean), std::pair(&weight.square, &from.square)}) {
      if (moment->empty()) {
        own->zero_();
      } else {
        own->copy_(ViewOf(*moment, ShapeOf(weight.tensor)));
      }
    }
  }
  updates_ = state.updates;
}

}  // namespace hunch

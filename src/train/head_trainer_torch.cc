#include "train/head_trainer_torch.h"

#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/stopwatch.h"

namespace hunch {
namespace {

constexpr double kStepWeight = 0.8;  // of a step's loss against the one before
// Answers' tokens that are scored together: so many rows of 8192 scores stay in the cache while the
// handful of operations on them run.
constexpr int64_t kSlice = 128;

// How far `input` is from what the target's output matrix read, summed over rows: the smooth L1 of
// arXiv 2401.15077, in units of the target's numbers.
at::Tensor Distance(const HeadBatch& batch, const at::Tensor& input) {
  const at::Tensor finals = ViewOf(batch.finals, {batch.answers(), batch.hidden});
  const double unit = std::sqrt(finals.square().mean().item<double>());
  return at::smooth_l1_loss(input / unit, finals / unit) * batch.answers();
}

}  // namespace

// One step's part in a loss.
struct TorchTrainer::Step {
  std::string output;  // the matrix's name
  double weight;       // of its loss in that of the batch
  at::Tensor input;    // [answers][hidden], what the matrix reads
  at::Tensor slopes;   // [answers][tokens], of the loss by each score, before the weight
};

TorchTrainer::TorchTrainer(const HeadStart& start)
    : weights_(HeadTensors(start.config), start.seed),
      target_output_(
          TensorOf(start.output, {start.config.output_rows(), start.config.target.hidden})),
      tokens_(start.config.tokens) {
  at::set_num_threads(start.threads);
}

TorchTrainer::TorchTrainer(const DraftStart& start)
    : weights_(start.tensors, std::nullopt),
      target_output_(
          TensorOf(start.target_output,
                   {static_cast<int64_t>(start.target_output.size()) / start.target_hidden,
                    start.target_hidden})) {
  at::set_num_threads(start.threads);
}

// In weights_.type(), without gradient. A draft model's may have rows for more than the tokens.
at::Tensor TorchTrainer::OutputMatrix(const std::string& name) {
  if (name.empty()) return target_output_.to(weights_.type());
  return weights_.Cast(name).detach().narrow(0, 0, target_output_.size(0));
}

at::Tensor TorchTrainer::Scores(const at::Tensor& input, const std::string& output) {
  return at::linear(input.to(weights_.type()), OutputMatrix(output)).to(at::kFloat);
}

at::Tensor TorchTrainer::Best(const at::Tensor& input, const std::string& output) {
  std::vector<at::Tensor> best;
  for (int64_t first = 0; first < input.size(0); first += kSlice) {
    const int64_t count = std::min(kSlice, input.size(0) - first);
    best.push_back(Scores(input.narrow(0, first, count), output).argmax(1));
  }
  return at::cat(best);
}

// The cross entropy of a softmax q of scores x to the target's probabilities p is log(sum exp(x)) -
// p x, and its slope q - p. The logarithm is that of the likeliest token's exp(x) / q, so that each
// score is raised to a power once.
double TorchTrainer::ScoreSlice(const HeadBatch& batch, int64_t first, int64_t count,
                                std::vector<Step>& steps) {
  const c10::NoGradGuard no_grad;
  // In fp32 whatever the precision, as the target's own scores are.
  const at::Tensor finals = ViewOf(batch.finals, {batch.answers(), batch.hidden});
  const at::Tensor wanted =
      at::softmax(at::linear(finals.narrow(0, first, count), target_output_), 1);
  double loss = 0;
  for (Step& step : steps) {
    const at::Tensor scores = Scores(step.input.narrow(0, first, count), step.output);
    at::Tensor shares = at::softmax(scores, 1);
    const at::Tensor logarithms = scores.amax(1) - shares.amax(1).log_();
    loss += step.weight * (logarithms.sum(at::kDouble).item<double>() -
                           at::dot(wanted.view(-1), scores.view(-1)).item<double>());
    step.slopes.narrow(0, first, count).copy_(shares.sub_(wanted));
  }
  return loss;
}

// Scores and their gradients are made by hand, slice by slice: the tensors of all rows and tokens
// that PyTorch would keep for them are most of the memory and half of the time.
double TorchTrainer::ForwardAndBackward(const HeadBatch& batch) {
  const std::unique_ptr<Pass> pass = Run(batch);
  std::vector<Step> steps;
  double weight = 1, weights = 0;
  for (int step = 0; step < batch.steps; ++step, weight *= kStepWeight) {
    steps.push_back(
        {.output = pass->OutputName(step),
         .weight = weight / batch.answers(),
         .input = pass->OutputInput(step, ViewOf(batch.answer_rows[step])),
         .slopes = at::empty({batch.answers(), target_output_.size(0)}, weights_.type())});
    weights += weight;
  }
  for (Step& step : steps) step.weight /= weights;
  double loss = 0;
  for (int64_t first = 0; first < batch.answers(); first += kSlice) {
    loss += ScoreSlice(batch, first, std::min(kSlice, batch.answers() - first), steps);
  }
  at::Tensor rest;  // a number whose gradients are the loss's, by all but the output matrices
  for (const Step& step : steps) {
    if (!step.output.empty()) {
      const at::Tensor input = step.input.detach().to(weights_.type());
      weights_.AddGradient(step.output, at::mm(step.slopes.t(), input), step.weight);
    }
    const at::Tensor slopes = at::mm(step.slopes, OutputMatrix(step.output)).to(at::kFloat);
    const at::Tensor own = step.weight * (step.input * slopes).sum();
    rest = rest.defined() ? rest + own : own;
    if (!pass->ImitatesTarget()) continue;
    const at::Tensor distance = step.weight * Distance(batch, step.input);
    rest = rest + distance;
    loss += distance.item<double>();
  }
  rest.backward();
  pass->Backward();
  return loss;
}

LossAndGradient TorchTrainer::Gradient(const HeadBatch& batch, std::string_view weight) {
  const double loss = ForwardAndBackward(batch);
  const at::Tensor gradient = weights_.Get(weight).grad().contiguous();
  const float* const data = gradient.data_ptr<float>();
  return {loss, {data, data + gradient.numel()}};
}

double TorchTrainer::Update(const HeadBatch& batch, double learning_rate) {
  const double loss = ForwardAndBackward(batch);
  weights_.Update(learning_rate);
  return loss;
}

double TorchTrainer::TimeUpdate(const HeadBatch& batch) {
  const Stopwatch watch;
  ForwardAndBackward(batch);
  const double seconds = watch.Seconds();
  weights_.ForgetGradients();
  return seconds;
}

HeadGuesses TorchTrainer::Guess(const HeadBatch& batch) {
  const c10::NoGradGuard no_grad;
  const std::unique_ptr<Pass> pass = Run(batch);
  HeadGuesses guesses;
  for (int step = 0; step < batch.steps; ++step) {
    const at::Tensor input = pass->OutputInput(step, at::arange(batch.asked()));
    const at::Tensor best = Best(input, pass->OutputName(step));
    const int64_t* const rows = best.data_ptr<int64_t>();
    std::vector<TokenId>& tokens = guesses.emplace_back();
    for (int64_t i = 0; i < best.numel(); ++i) {
      tokens.push_back(tokens_.empty() ? static_cast<TokenId>(rows[i]) : tokens_[rows[i]]);
    }
  }
  weights_.ForgetGradients();
  return guesses;
}

at::Tensor AskedRows(const HeadBatch& batch) {
  std::vector<int64_t> asked;
  for (const HeadBatch::Text& text : batch.texts) {
    for (int i = 0; i < text.asked; ++i) asked.push_back(text.first_row + text.first_position + i);
  }
  return ViewOf(asked).clone();
}

}  // namespace hunch

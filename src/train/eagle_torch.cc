#include "train/eagle_torch.h"

#include <c10/core/GradMode.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "train/head_trainer_torch.h"

namespace hunch {
namespace {

using namespace head_tensors;

constexpr double kFirstSpread = 1.6;  // of a new head's scores: sqrt of their mean square

// Keys and values of the steps after the first one, which a row sees of itself only.
struct OwnRows {
  at::Tensor keys, values;  // [asked][kv_heads][head_dim]
};

// The one layer of either kind.
class EagleNet {
 public:
  EagleNet(const HeadConfig& config, LearnedWeights& weights, const HeadBatch& batch)
      : c_(config), w_(weights), b_(batch) {
    std::vector<int64_t> positions;
    for (const HeadBatch::Text& text : b_.texts) {
      for (int i = 0; i < text.rows; ++i) positions.push_back(i);
    }
    positions_ = ViewOf(positions).to(at::kDouble);
    asked_ = AskedRows(batch);
    asked_positions_ = positions_.index_select(0, asked_);
    embeddings_ =
        ViewOf(b_.embeddings, {static_cast<int64_t>(b_.embeddings.size()) / b_.hidden, b_.hidden});
  }

  // outputs[k] = h of every asked row in step k, [asked][hidden].
  std::vector<at::Tensor> Run() {
    at::Tensor features = ViewOf(b_.taps, {b_.rows(), b_.tap_size});
    if (is_eagle3()) features = w_.Linear(features, kFc);
    const at::Tensor all = Input(ViewOf(b_.row_tokens), features);
    keys_ = Rotated(w_.Linear(all, kK), c_.kv_heads, positions_);
    values_ = Split(w_.Linear(all, kV), c_.kv_heads);
    features = features.index_select(0, asked_);
    std::vector<at::Tensor> outputs;
    for (int step = 0; step < b_.steps; ++step) {
      const at::Tensor input =
          step == 0 ? all.index_select(0, asked_) : Input(ViewOf(b_.asked_tokens[step]), features);
      features = Layer(input, features, step);
      outputs.push_back(features);
    }
    return outputs;
  }

 private:
  bool is_eagle3() const { return c_.kind == HeadKind::kEagle3; }

  // What attention reads, of an embedding and a feature: both, normed; of eagle what fc makes of
  // them.
  at::Tensor Input(const at::Tensor& tokens, const at::Tensor& features) {
    const at::Tensor embeddings = embeddings_.index_select(0, tokens);
    if (!is_eagle3()) return w_.Linear(at::cat({embeddings, features}, 1), kFc);
    return at::cat(
        {w_.Norm(embeddings, kAttnNorm, c_.norm_eps), w_.Norm(features, kHiddenNorm, c_.norm_eps)},
        1);
  }

  at::Tensor Split(const at::Tensor& x, int heads) const {
    return x.view({-1, heads, c_.head_dim});
  }

  // Rope over pairs (i, i + head_dim / 2): [rows][heads][head_dim].
  at::Tensor Rotated(const at::Tensor& x, int heads, const at::Tensor& positions) const {
    const int half = c_.head_dim / 2;
    const at::Tensor frequency =
        at::pow(c_.rope_theta, at::arange(half, at::kDouble) * (-1.0 / half));
    const at::Tensor angles = positions.unsqueeze(1) * frequency;
    const at::Tensor cos = angles.cos().to(at::kFloat).unsqueeze(1);
    const at::Tensor sin = angles.sin().to(at::kFloat).unsqueeze(1);
    const at::Tensor heads_of = Split(x, heads);
    const at::Tensor first = heads_of.narrow(2, 0, half), second = heads_of.narrow(2, half, half);
    return at::cat({first * cos - second * sin, first * sin + second * cos}, 2);
  }

  at::Tensor Layer(const at::Tensor& input, const at::Tensor& features, int step) {
    const at::Tensor positions = asked_positions_ + step;
    if (step > 0) {
      own_.push_back({Rotated(w_.Linear(input, kK), c_.kv_heads, positions),
                      Split(w_.Linear(input, kV), c_.kv_heads)});
    }
    const at::Tensor queries = Rotated(w_.Linear(input, kQ), c_.heads, positions);
    std::vector<at::Tensor> attended;
    for (const HeadBatch::Text& text : b_.texts) attended.push_back(Attend(queries, text));
    const at::Tensor middle =
        (is_eagle3() ? features : input) + w_.Linear(at::cat(attended), kAttnOutput);
    const at::Tensor normed = w_.Norm(middle, kFfnNorm, c_.norm_eps);
    return middle +
           w_.Linear(at::silu(w_.Linear(normed, kFfnGate)) * w_.Linear(normed, kFfnUp), kFfnDown);
  }

  // [asked rows of the text][heads * head_dim]. A row sees the rows of step 0 up to its own
  // position, and of the later steps itself.
  at::Tensor Attend(const at::Tensor& all_queries, const HeadBatch::Text& text) const {
    const int64_t kv = c_.kv_heads, group = c_.heads / c_.kv_heads, dim = c_.head_dim;
    const int64_t asked = text.asked, rows = text.rows;
    // [kv][group][asked][dim]
    const at::Tensor queries =
        (all_queries.narrow(0, text.first_asked, asked) * (1 / std::sqrt(static_cast<double>(dim))))
            .view({asked, kv, group, dim})
            .permute({1, 2, 0, 3});
    const auto of_text = [](const at::Tensor& x, int first, int64_t count) {
      return x.narrow(0, first, count).permute({1, 0, 2});  // [kv][count][dim]
    };
    const at::Tensor keys = of_text(keys_, text.first_row, rows).to(w_.type());
    at::Tensor scores =
        at::bmm(queries.reshape({kv, group * asked, dim}).to(w_.type()), keys.transpose(1, 2))
            .to(at::kFloat)
            .view({kv, group, asked, rows});
    const at::Tensor position = at::arange(text.first_position, text.first_position + asked);
    const at::Tensor hidden = at::arange(rows).unsqueeze(0) > position.unsqueeze(1);
    std::vector<at::Tensor> columns = {
        scores.masked_fill(hidden, -std::numeric_limits<float>::infinity())};
    for (const OwnRows& own : own_) {
      const at::Tensor key = of_text(own.keys, text.first_asked, asked).unsqueeze(1);
      columns.push_back((queries * key).sum({-1}, /*keepdim=*/true));
    }
    const at::Tensor shares = at::softmax(at::cat(columns, 3), 3);
    const at::Tensor values = of_text(values_, text.first_row, rows).to(w_.type());
    at::Tensor out =
        at::bmm(shares.narrow(3, 0, rows).reshape({kv, group * asked, rows}).to(w_.type()), values)
            .to(at::kFloat)
            .view({kv, group, asked, dim});
    for (size_t i = 0; i < own_.size(); ++i) {
      const at::Tensor value = of_text(own_[i].values, text.first_asked, asked).unsqueeze(1);
      out = out + shares.narrow(3, rows + static_cast<int64_t>(i), 1) * value;
    }
    return out.permute({2, 0, 1, 3}).reshape({asked, kv * group * dim});
  }

  const HeadConfig& c_;
  LearnedWeights& w_;
  const HeadBatch& b_;
  at::Tensor positions_, asked_positions_;  // fp64
  at::Tensor asked_;                        // rows
  at::Tensor embeddings_;                   // [tokens][hidden]
  at::Tensor keys_, values_;                // [rows][kv_heads][head_dim], of step 0
  std::vector<OwnRows> own_;                // of the later ones
};

class EagleTrainer : public TorchTrainer {
 public:
  explicit EagleTrainer(const HeadStart& start) : TorchTrainer(start), config_(start.config) {
    if (config_.kind == HeadKind::kEagle3) BeginNearTarget(start);
  }

 private:
  // Of what a new head would have to find out, what is known beforehand. Mean loss over the first
  // 83,533 tokens of SmolLM2's answers, and tokens per pass after them, each with those before it:
  // output matrix and norm the target's 6.78, 1.29; scores of a sane spread 5.76, 1.34; queries
  // that find their own position 5.47, 1.38; a residual stream that the matrix can read 5.20, 1.40.
  void BeginNearTarget(const HeadStart& start) {
    const HeadConfig& c = config_;
    const c10::NoGradGuard no_grad;
    weights_.Set(kOutput, start.output);
    const at::Tensor norm = ViewOf(start.output_norm, {c.target.hidden});
    const at::Tensor spread = (weights_.Get(kOutput) * norm).square().sum({1}).mean().sqrt();
    weights_.Set(kOutputNorm, norm * (kFirstSpread / spread));
    // A query is the key of its own position, before both turn with it: nothing is more alike, and
    // what is there, the embedding of the newest token, says most about the next one.
    const at::Tensor keys = weights_.Get(kK);
    const int64_t columns = keys.size(1), group = c.heads / c.kv_heads;
    weights_.Set(kQ, keys.view({c.kv_heads, 1, c.head_dim, columns})
                         .expand({c.kv_heads, group, c.head_dim, columns})
                         .reshape({c.heads * c.head_dim, columns}));
    // The last tap, as it is.
    weights_.Set(kFc, at::cat({at::zeros({c.target.hidden, c.tap_size() - c.target.hidden}),
                               at::eye(c.target.hidden)},
                              1));
  }

  class EaglePass : public Pass {
   public:
    EaglePass(const HeadConfig& config, LearnedWeights& weights, const HeadBatch& batch)
        : c_(config), w_(weights), outputs_(EagleNet(config, weights, batch).Run()) {}

    at::Tensor OutputInput(int step, const at::Tensor& rows) override {
      const at::Tensor outputs = outputs_[step].index_select(0, rows);
      return c_.kind == HeadKind::kEagle3 ? w_.Norm(outputs, kOutputNorm, c_.norm_eps) : outputs;
    }
    std::string OutputName(int) const override {
      return c_.kind == HeadKind::kEagle3 ? std::string(kOutput) : "";
    }
    bool ImitatesTarget() const override { return c_.kind == HeadKind::kEagle; }

   private:
    const HeadConfig& c_;
    LearnedWeights& w_;
    const std::vector<at::Tensor> outputs_;
  };

  std::unique_ptr<Pass> Run(const HeadBatch& batch) override {
    return std::make_unique<EaglePass>(config_, weights_, batch);
  }

  const HeadConfig config_;
};

}  // namespace

std::unique_ptr<HeadTrainer> MakeEagleTrainer(const HeadStart& start) {
  return std::make_unique<EagleTrainer>(start);
}

LossAndGradient EagleGradient(const HeadStart& start, const HeadState& state,
                              const HeadBatch& batch, std::string_view weight) {
  EagleTrainer trainer(start);
  trainer.Restore(state);
  return trainer.Gradient(batch, weight);
}

}  // namespace hunch

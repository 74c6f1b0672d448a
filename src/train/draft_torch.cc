#include "train/draft_torch.h"

#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "train/head_trainer_torch.h"

namespace hunch {
namespace {

constexpr std::string_view kEmbedding = "token_embd.weight";

// A model of one of the architectures that Hunch runs (model/forward.cc), over a batch's texts.
class ModelNet {
 public:
  ModelNet(const ModelConfig& config, LearnedWeights& weights, const HeadBatch& batch)
      : c_(config), w_(weights), b_(batch), tokens_(ViewOf(batch.tokens)) {
    std::vector<double> positions;
    for (const HeadBatch::Text& text : b_.texts) {
      for (int i = 0; i < TokensOf(text); ++i) positions.push_back(i);
    }
    const at::Tensor angles = at::outer(Doubles(positions), Doubles(c_.rope_frequencies));
    cos_ = angles.cos().to(at::kFloat).unsqueeze(1);
    sin_ = angles.sin().to(at::kFloat).unsqueeze(1);
  }

  // The residual stream, [tokens][hidden].
  at::Tensor Embed() const { return w_.Get(kEmbedding).index_select(0, tokens_); }
  // After the layer, of what it was before.
  at::Tensor Layer(int index, const at::Tensor& x) const {
    const std::string blk = fmt::format("blk.{}.", index);
    const at::Tensor input = w_.Norm(x, blk + "attn_norm.weight", c_.norm_eps);
    const at::Tensor q = Rotated(Normed(Heads(input, blk + "attn_q", c_.heads), blk + "attn_q"));
    const at::Tensor k = Rotated(Normed(Heads(input, blk + "attn_k", c_.kv_heads), blk + "attn_k"));
    const at::Tensor v = Heads(input, blk + "attn_v", c_.kv_heads);
    std::vector<at::Tensor> attended;
    int64_t first = 0;
    for (const HeadBatch::Text& text : b_.texts) {
      const int64_t n = TokensOf(text);
      attended.push_back(
          Attend(q.narrow(0, first, n), k.narrow(0, first, n), v.narrow(0, first, n)));
      first += n;
    }
    const at::Tensor middle = x + w_.Linear(at::cat(attended), blk + "attn_output.weight");
    const at::Tensor normed = w_.Norm(middle, blk + "ffn_norm.weight", c_.norm_eps);
    const at::Tensor gate = at::silu(w_.Linear(normed, blk + "ffn_gate.weight"));
    return middle +
           w_.Linear(gate * w_.Linear(normed, blk + "ffn_up.weight"), blk + "ffn_down.weight");
  }
  // What the output matrix reads.
  at::Tensor Last(const at::Tensor& x) const {
    return w_.Norm(x, "output_norm.weight", c_.norm_eps);
  }

 private:
  // A batch's rows are those of a head, which has none for the first token and the last.
  static int TokensOf(const HeadBatch::Text& text) { return text.rows + 2; }
  static at::Tensor Doubles(const std::vector<double>& values) {
    return at::from_blob(const_cast<double*>(values.data()), {static_cast<int64_t>(values.size())},
                         at::kDouble)
        .clone();
  }

  // [tokens][heads][head_dim]
  at::Tensor Heads(const at::Tensor& x, const std::string& name, int heads) const {
    at::Tensor y = w_.Linear(x, name + ".weight");
    if (w_.Has(name + ".bias")) y = y + w_.Get(name + ".bias");
    return y.view({-1, heads, c_.head_dim});
  }
  // Of qwen3.
  at::Tensor Normed(const at::Tensor& x, const std::string& name) const {
    const std::string norm = name + "_norm.weight";
    return w_.Has(norm) ? w_.Norm(x, norm, c_.norm_eps) : x;
  }

  // Rope over pairs (i, i + pairs) or (2i, 2i + 1); what is past them stays.
  at::Tensor Rotated(const at::Tensor& x) const {
    const int64_t pairs = c_.rope_pairs();
    // Which dimension of [.., .., pairs, 2] or [.., .., 2, pairs] tells the two of a pair apart.
    const int64_t side = c_.rope_neox ? 2 : 3;
    const int64_t rows = x.size(0), heads = x.size(1);
    const at::Tensor split =
        x.narrow(2, 0, 2 * pairs)
            .reshape(c_.rope_neox ? std::vector<int64_t>{rows, heads, 2, pairs}
                                  : std::vector<int64_t>{rows, heads, pairs, 2});
    const at::Tensor a = split.select(side, 0), b = split.select(side, 1);
    const at::Tensor turned = at::stack({a * cos_ - b * sin_, a * sin_ + b * cos_}, side);
    return at::cat({turned.flatten(2), x.narrow(2, 2 * pairs, c_.head_dim - 2 * pairs)}, 2);
  }

  // One text's: [n][heads * head_dim]. A token sees those before it and itself.
  at::Tensor Attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) const {
    const int64_t n = q.size(0), kv = c_.kv_heads, group = c_.heads / c_.kv_heads,
                  dim = c_.head_dim;
    const at::Tensor queries = (q * (1 / std::sqrt(static_cast<double>(dim))))
                                   .view({n, kv, group, dim})
                                   .permute({1, 2, 0, 3})
                                   .reshape({kv, group * n, dim});
    const at::Tensor keys = k.permute({1, 2, 0}), values = v.permute({1, 0, 2});
    const at::Tensor scores =
        at::bmm(queries.to(w_.type()), keys.to(w_.type())).to(at::kFloat).view({kv, group, n, n});
    const at::Tensor hidden = at::arange(n).unsqueeze(0) > at::arange(n).unsqueeze(1);
    const at::Tensor shares =
        at::softmax(scores.masked_fill(hidden, -std::numeric_limits<float>::infinity()), 3);
    return at::bmm(shares.view({kv, group * n, n}).to(w_.type()), values.to(w_.type()))
        .to(at::kFloat)
        .view({kv, group, n, dim})
        .permute({2, 0, 1, 3})
        .reshape({n, kv * group * dim});
  }

  const ModelConfig& c_;
  LearnedWeights& w_;
  const HeadBatch& b_;
  const at::Tensor tokens_;  // [tokens]
  at::Tensor cos_, sin_;     // [tokens][1][pairs]
};

class DraftTrainer : public TorchTrainer {
 public:
  explicit DraftTrainer(const DraftStart& start) : TorchTrainer(start), config_(start.config) {}

  // One pass over a text gives the guesses of all chains: a guess counts only after those before it
  // came true, and then the chain is the text.
  HeadGuesses Guess(const HeadBatch& batch) override {
    const c10::NoGradGuard no_grad;
    const ModelNet net(config_, weights_, batch);
    at::Tensor x = net.Embed();
    for (int layer = 0; layer < config_.layers; ++layer) x = net.Layer(layer, x);
    const at::Tensor best = Best(net.Last(x), OutputName());
    const int64_t* const tokens = best.data_ptr<int64_t>();
    HeadGuesses guesses;
    for (const std::vector<int64_t>& asked : batch.asked_tokens) {
      std::vector<TokenId>& of_step = guesses.emplace_back();
      for (const int64_t token : asked) of_step.push_back(static_cast<TokenId>(tokens[token]));
    }
    weights_.ForgetGradients();
    return guesses;
  }

 private:
  // Of each layer only what it reads is kept, and on the way back it computes again (arXiv
  // 1604.06174): a third more work for a fraction of the memory.
  class DraftPass : public Pass {
   public:
    DraftPass(const ModelConfig& config, LearnedWeights& weights, const HeadBatch& batch,
              std::string output)
        : net_(config, weights, batch), batch_(batch), output_(std::move(output)) {
      const c10::NoGradGuard no_grad;
      at::Tensor x = net_.Embed();
      for (int layer = 0; layer < config.layers; ++layer) {
        inputs_.push_back(x);
        x = net_.Layer(layer, x);
      }
      last_ = x.set_requires_grad(true);
    }

    at::Tensor OutputInput(int step, const at::Tensor& rows) override {
      const at::Tensor tokens = ViewOf(batch_.asked_tokens[step]).index_select(0, rows);
      return net_.Last(last_.index_select(0, tokens));
    }
    std::string OutputName(int) const override { return output_; }

    void Backward() override {
      at::Tensor slopes = last_.grad();
      while (!inputs_.empty()) {
        const at::Tensor x = inputs_.back().set_requires_grad(true);
        inputs_.pop_back();
        net_.Layer(static_cast<int>(inputs_.size()), x).backward(slopes);
        slopes = x.grad();
      }
      net_.Embed().backward(slopes);
    }

   private:
    const ModelNet net_;
    const HeadBatch& batch_;
    const std::string output_;
    std::vector<at::Tensor> inputs_;  // of each layer, [tokens][hidden]
    at::Tensor last_;                 // what the last layer gives
  };

  std::string OutputName() const {
    return std::string(weights_.Has("output.weight") ? "output.weight" : kEmbedding);
  }
  std::unique_ptr<Pass> Run(const HeadBatch& batch) override {
    return std::make_unique<DraftPass>(config_, weights_, batch, OutputName());
  }

  const ModelConfig config_;
};

}  // namespace

std::unique_ptr<HeadTrainer> MakeDraftModelTrainer(const DraftStart& start) {
  return std::make_unique<DraftTrainer>(start);
}

LossAndGradient DraftGradient(const DraftStart& start, const HeadState& state,
                              const HeadBatch& batch, std::string_view weight) {
  DraftTrainer trainer(start);
  trainer.Restore(state);
  return trainer.Gradient(batch, weight);
}

}  // namespace hunch

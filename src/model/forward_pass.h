// ForwardPass: one pass over one batch, phase after phase (docs/numerics.md has the order of
// arithmetic). A model runs it whole; a head runs its parts around one layer (draft/head_model.h).
// It lives for one pass and allocates nothing. Confined to the thread that owns the pool.
#ifndef HUNCH_MODEL_FORWARD_PASS_H_
#define HUNCH_MODEL_FORWARD_PASS_H_

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "model/model.h"
#include "model/scratch.h"

namespace hunch {

// Whether one of them multiplies int8 rows.
bool NeedsQuantized(std::initializer_list<const PackedMatrix*> consumers);

// y[rows][w.rows()] = acts w^T, one share of the output rows.
inline void Linear(const PackedMatrix& w, const ActBuffer& acts, int64_t rows, float* y, int share,
                   int shares) {
  const Range groups = Partition(w.groups(), share, shares);
  MatMul(w, acts.View(static_cast<int>(rows)), y, w.rows(), groups.begin, groups.end);
}

// fn(row) for every row, shared out; a single row is not worth a hand-off.
template <typename Fn>
void EachRow(ThreadPool& pool, int64_t rows, Fn&& fn) {
  if (rows == 1) return fn(int64_t{0});
  pool.Run([&](int share, int shares) {
    const Range range = Partition(rows, share, shares);
    for (int64_t r = range.begin; r < range.end; ++r) fn(r);
  });
}

class ForwardPass {
 public:
  // output: what gives the logits; null: that of the weights. Weights without an output_norm give
  // the residual stream to it as it is.
  ForwardPass(const ModelConfig& config, const ModelWeights& weights, PassScratch& scratch,
              ThreadPool& pool, std::span<const SequenceRows> sequences, ModelKv& kv,
              std::span<const HiddenTap> taps, const PackedMatrix* output = nullptr)
      : c_(config),
        w_(weights),
        output_(output == nullptr ? weights.output : *output),
        s_(scratch),
        pool_(pool),
        sequences_(sequences),
        kv_(kv),
        taps_(taps) {}

  // All of a model's pass.
  void Run();

  // Its parts, in this order. Which token is where: fills the scratch's plan.
  void PlanRows();
  int64_t row_count() const { return static_cast<int64_t>(s_.rows.size()); }
  template <typename Fn>
  void EachRow(int64_t rows, Fn&& fn) {
    hunch::EachRow(pool_, rows, std::forward<Fn>(fn));
  }
  // The angles of a row's position.
  void SetRope(int64_t r);
  // Attention and feed-forward of one layer, whose output still has to join the residual stream.
  // input: what q, k and v are made of, [rows][layer.q.columns()].
  void Layer(const LayerWeights& layer, const KvLayer& kv, const ActBuffer& input);
  // The feed-forward block's output of `layer` joins the residual stream.
  void AddResidual(int64_t r, int layer);
  void ComputeLogits();

 private:
  void PlanSequence(int sequence);
  RowView ViewOf(const SequenceRows& sequence, int row);

  // normed[to] = RmsNorm(x[from]), quantised for the linear layers that follow. Without a weight
  // there is no norm.
  void Norm(int64_t from, int64_t to, const std::vector<float>& weight, bool quantize) {
    const float* const x = s_.x + from * c_.hidden;
    float* const out = s_.normed.f32 + to * c_.hidden;
    if (weight.empty()) {
      std::copy_n(x, c_.hidden, out);
    } else {
      RmsNorm(x, weight.data(), c_.norm_eps, c_.hidden, out);
    }
    if (quantize) s_.normed.Quantize(static_cast<int>(to), 0, c_.hidden);
  }

  void CopyTaps(int64_t r, int layer, const float* hidden) {
    for (const HiddenTap& tap : taps_) {
      if (tap.layer == layer) std::copy_n(hidden, c_.hidden, tap.out + r * c_.hidden);
    }
  }

  AttentionArgs ArgsOf(const AttentionTile& tile, const KvLayer& kv) const;
  void AttentionBlock(const LayerWeights& layer, const KvLayer& kv, const ActBuffer& input);
  void FinishQkv(const LayerWeights& layer, const KvLayer& kv, int64_t r);
  void Attend(const KvLayer& kv, bool quantize);
  bool AttendByChunks(const KvLayer& kv, bool quantize);
  void QuantizeAttended(const AttentionTile& tile, int kv_head);
  void FeedForwardBlock(const LayerWeights& layer);
  void GateAndUp(const LayerWeights& layer, int share, int shares);
  void AddSpill(const PackedMatrix& w, int64_t r, int64_t begin, int64_t end, float* y);
  void LogitsAndMaxima(int rows, int share, int shares);

  const ModelConfig& c_;
  const ModelWeights& w_;
  const PackedMatrix& output_;
  PassScratch& s_;
  ThreadPool& pool_;
  std::span<const SequenceRows> sequences_;
  ModelKv& kv_;
  std::span<const HiddenTap> taps_;
};

}  // namespace hunch

#endif  // HUNCH_MODEL_FORWARD_PASS_H_

// The forward pass. One pool job runs the whole pass; its members meet at a barrier between phases,
// which costs a fraction of a fork-join each (a 30-layer model has over 200 phases).
#include <algorithm>
#include <cmath>
#include <cstring>

#include "model/model.h"
#include "model/scratch.h"

namespace hunch {
namespace {

bool NeedsQuantized(std::initializer_list<const PackedMatrix*> consumers) {
  for (const PackedMatrix* matrix : consumers) {
    if (UsesQuantizedActs(matrix->type())) return true;
  }
  return false;
}

}  // namespace

Model::Model(std::shared_ptr<const GgufFile> file, ThreadPool& pool, ForwardLimits limits)
    : file_(std::move(file)), pool_(pool), limits_(limits) {}
Model::~Model() = default;

Result<std::unique_ptr<Model>> Model::Load(std::shared_ptr<const GgufFile> file, ThreadPool& pool,
                                           const ForwardLimits& limits) {
  std::unique_ptr<Model> model(new Model(std::move(file), pool, limits));
  HUNCH_ASSIGN_OR_RETURN(model->config_, ReadModelConfig(*model->file_));
  HUNCH_ASSIGN_OR_RETURN(model->weights_, LoadWeights(*model->file_, model->config_, pool));
  HUNCH_ASSIGN_OR_RETURN(model->scratch_, Scratch::Create(model->config_, limits, pool.size()));
  return model;
}

// One pass over one batch, seen from every thread of the pool.
class ForwardPass {
 public:
  ForwardPass(const ModelConfig& config, const ModelWeights& weights, Model::Scratch& scratch,
              std::span<const SequenceRows> sequences, ModelKv& kv, std::span<const HiddenTap> taps)
      : c_(config), w_(weights), s_(scratch), sequences_(sequences), kv_(kv), taps_(taps) {
    PlanRows();
  }

  void Run(int thread, int threads) {
    const Range rows = Partition(row_count(), thread, threads);
    for (int64_t r = rows.begin; r < rows.end; ++r) {
      w_.Embed(s_.rows[r].token, s_.x + r * c_.hidden);
      RopeAngles(s_.rows[r].position, c_.rope_frequencies.data(), c_.rope_pairs(),
                 s_.cos_sin + r * 2 * c_.rope_pairs());
    }
    for (int index = 0; index < c_.layers; ++index) {
      const LayerWeights& layer = w_.layers[index];
      Norm(layer.attn_norm, NeedsQuantized({&layer.q, &layer.k, &layer.v}), rows);
      Barrier(threads);
      AttentionBlock(layer, kv_.layer(index), rows, thread, threads);
      AddResidual(rows);
      Norm(layer.ffn_norm, NeedsQuantized({&layer.gate, &layer.up}), rows);
      Barrier(threads);
      FeedForwardBlock(layer, thread, threads);
      AddResidual(rows);
      CopyTaps(index, s_.x, rows);
    }
    Logits(rows, thread, threads);
  }

 private:
  int64_t row_count() const { return static_cast<int64_t>(s_.rows.size()); }
  void Barrier(int threads) { s_.barrier.Wait(threads); }

  void PlanRows();
  void PlanSequence(int sequence);
  RowView ViewOf(const SequenceRows& sequence, int row);

  // normed = RmsNorm(x), quantised for the linear layers that follow.
  void Norm(const std::vector<float>& weight, bool quantize, Range rows) {
    for (int64_t r = rows.begin; r < rows.end; ++r) {
      RmsNorm(s_.x + r * c_.hidden, weight.data(), c_.norm_eps, c_.hidden,
              s_.normed.f32 + r * c_.hidden);
      if (quantize) s_.normed.Quantize(static_cast<int>(r), 0, c_.hidden);
    }
  }

  void AddResidual(Range rows) {
    AddInPlace(s_.x + rows.begin * c_.hidden, s_.projected + rows.begin * c_.hidden,
               (rows.end - rows.begin) * c_.hidden);
  }

  void CopyTaps(int layer, const float* hidden, Range rows) {
    for (const HiddenTap& tap : taps_) {
      if (tap.layer != layer) continue;
      std::memcpy(tap.out + rows.begin * c_.hidden, hidden + rows.begin * c_.hidden,
                  (rows.end - rows.begin) * c_.hidden * sizeof(float));
    }
  }

  // y[rows][w.rows()] = acts w^T, this thread's share of the output rows.
  void Linear(const PackedMatrix& w, const ActBuffer& acts, int rows, float* y, int thread,
              int threads) {
    const Range groups = Partition(w.groups(), thread, threads);
    MatMul(w, acts.View(rows), y, w.rows(), groups.begin, groups.end);
  }

  void AttentionBlock(const LayerWeights& layer, const KvLayer& kv, Range rows, int thread,
                      int threads);
  void FinishQkv(const LayerWeights& layer, const KvLayer& kv, int64_t r);
  void Attend(const KvLayer& kv, bool quantize, int thread, int threads);
  void FeedForwardBlock(const LayerWeights& layer, int thread, int threads);
  void Logits(Range rows, int thread, int threads);

  const ModelConfig& c_;
  const ModelWeights& w_;
  Model::Scratch& s_;
  std::span<const SequenceRows> sequences_;
  ModelKv& kv_;
  std::span<const HiddenTap> taps_;
};

void ForwardPass::PlanRows() {
  s_.rows.clear();
  s_.views.clear();
  s_.extras.clear();
  s_.tiles.clear();
  s_.logit_rows.clear();
  for (size_t i = 0; i < sequences_.size(); ++i) PlanSequence(static_cast<int>(i));
}

void ForwardPass::PlanSequence(int index) {
  const SequenceRows& sequence = sequences_[index];
  const int first = static_cast<int>(row_count());
  const int count = static_cast<int>(sequence.tokens.size());
  for (int row = 0; row < count; ++row) {
    HUNCH_CHECK_LT(static_cast<uint32_t>(sequence.tokens[row]), static_cast<uint32_t>(c_.vocab));
    const RowView view = ViewOf(sequence, row);
    const int slot = sequence.committed + row;
    s_.rows.push_back({sequence.tokens[row], view.contiguous + view.extras - 1,
                       sequence.blocks[slot / kKvBlock], slot % kKvBlock});
    s_.views.push_back(view);
    if (row >= sequence.logits_from) s_.logit_rows.push_back(first + row);
  }
  for (int row = 0; row < count; row += kTileRows) {
    s_.tiles.push_back({index, first + row, first + std::min(count, row + kTileRows)});
  }
}

// A row sees the committed slots and its own path. As long as the path's slots follow each other
// from the committed ones on (every row of a chain), they are part of the contiguous range.
RowView ForwardPass::ViewOf(const SequenceRows& sequence, int row) {
  if (sequence.parents.empty()) return {sequence.committed + row + 1, nullptr, 0};
  int depth = 0;
  for (int r = row; r >= 0; r = sequence.parents[r]) {
    HUNCH_CHECK_LT(sequence.parents[r], r);
    ++depth;
  }
  if (depth == row + 1) return {sequence.committed + depth, nullptr, 0};
  const size_t begin = s_.extras.size();
  HUNCH_CHECK_LE(begin + depth, s_.extras.capacity());
  s_.extras.resize(begin + depth);
  int at = depth;
  for (int r = row; r >= 0; r = sequence.parents[r])
    s_.extras[begin + --at] = sequence.committed + r;
  int contiguous = 0;
  while (contiguous < depth && s_.extras[begin + contiguous] == sequence.committed + contiguous) {
    ++contiguous;
  }
  return {sequence.committed + contiguous, s_.extras.data() + begin + contiguous,
          depth - contiguous};
}

void ForwardPass::AttentionBlock(const LayerWeights& layer, const KvLayer& kv, Range rows,
                                 int thread, int threads) {
  const int count = static_cast<int>(row_count());
  Linear(layer.q, s_.normed, count, s_.q, thread, threads);
  Linear(layer.k, s_.normed, count, s_.k, thread, threads);
  Linear(layer.v, s_.normed, count, s_.v, thread, threads);
  Barrier(threads);
  for (int64_t r = rows.begin; r < rows.end; ++r) FinishQkv(layer, kv, r);
  Barrier(threads);
  const bool quantize = NeedsQuantized({&layer.o});
  Attend(kv, quantize, thread, threads);
  Barrier(threads);
  Linear(layer.o, s_.attended, count, s_.projected, thread, threads);
  Barrier(threads);
}

// Bias, per-head norm (qwen3), rotation, and the store to the cache.
void ForwardPass::FinishQkv(const LayerWeights& layer, const KvLayer& kv, int64_t r) {
  float* q = s_.q + r * c_.q_size();
  float* k = s_.k + r * c_.kv_size();
  float* v = s_.v + r * c_.kv_size();
  if (!layer.q_bias.empty()) AddInPlace(q, layer.q_bias.data(), c_.q_size());
  if (!layer.k_bias.empty()) AddInPlace(k, layer.k_bias.data(), c_.kv_size());
  if (!layer.v_bias.empty()) AddInPlace(v, layer.v_bias.data(), c_.kv_size());
  if (!layer.q_norm.empty()) {
    for (int h = 0; h < c_.heads; ++h) {
      float* head = q + h * c_.head_dim;
      RmsNorm(head, layer.q_norm.data(), c_.norm_eps, c_.head_dim, head);
    }
    for (int h = 0; h < c_.kv_heads; ++h) {
      float* head = k + h * c_.head_dim;
      RmsNorm(head, layer.k_norm.data(), c_.norm_eps, c_.head_dim, head);
    }
  }
  const float* cos_sin = s_.cos_sin + r * 2 * c_.rope_pairs();
  Rope(q, c_.heads, c_.head_dim, c_.rope_pairs(), cos_sin, c_.rope_neox);
  Rope(k, c_.kv_heads, c_.head_dim, c_.rope_pairs(), cos_sin, c_.rope_neox);
  KvStore(kv, s_.rows[r].block, s_.rows[r].slot_in_block, k, v);
}

void ForwardPass::Attend(const KvLayer& kv, bool quantize, int thread, int threads) {
  const int q_size = c_.q_size();
  const int shared = q_size / c_.kv_heads;  // columns of the query heads of one KV head
  // Whole activation blocks per KV head can be quantised where they were made; thinner ones wait
  // for all.
  const bool fused = shared % kActBlock == 0;
  const int items = static_cast<int>(s_.tiles.size()) * c_.kv_heads;
  for (int item = thread; item < items; item += threads) {
    const AttentionTile& tile = s_.tiles[item / c_.kv_heads];
    const int kv_head = item % c_.kv_heads;
    const AttentionArgs args = {.layer = kv,
                                .blocks = sequences_[tile.sequence].blocks.data(),
                                .q = s_.q + tile.begin * q_size,
                                .out = s_.attended.f32 + tile.begin * q_size,
                                .views = s_.views.data() + tile.begin,
                                .rows = tile.end - tile.begin,
                                .heads = c_.heads,
                                .scale = 1.0f / std::sqrt(static_cast<float>(c_.head_dim))};
    Attention(args, kv_head, 0, args.rows, s_.attention + thread * s_.attention_bytes);
    if (!quantize || !fused) continue;
    for (int r = tile.begin; r < tile.end; ++r) {
      s_.attended.Quantize(r, kv_head * shared, (kv_head + 1) * shared);
    }
  }
  if (!quantize || fused) return;
  Barrier(threads);
  const Range rows = Partition(row_count(), thread, threads);
  for (int64_t r = rows.begin; r < rows.end; ++r)
    s_.attended.Quantize(static_cast<int>(r), 0, q_size);
}

void ForwardPass::FeedForwardBlock(const LayerWeights& layer, int thread, int threads) {
  const int count = static_cast<int>(row_count());
  const bool quantize = NeedsQuantized({&layer.down});
  // Shares are whole activation blocks (two groups), so each thread gates and quantises what it
  // computed.
  constexpr int kGroupsPerShare = kActBlock / kGroupRows;
  const int64_t shares = (layer.gate.groups() + kGroupsPerShare - 1) / kGroupsPerShare;
  const Range share = Partition(shares, thread, threads);
  const int64_t begin = share.begin * kGroupsPerShare;
  const int64_t end = std::min(share.end * kGroupsPerShare, layer.gate.groups());
  MatMul(layer.gate, s_.normed.View(count), s_.gated.f32, c_.ffn, begin, end);
  MatMul(layer.up, s_.normed.View(count), s_.up, c_.ffn, begin, end);
  const int64_t first = begin * kGroupRows;
  const int64_t last = std::min<int64_t>(end * kGroupRows, c_.ffn);
  for (int r = 0; r < count && first < last; ++r) {
    float* gate = s_.gated.f32 + r * static_cast<int64_t>(c_.ffn) + first;
    SiluMul(gate, s_.up + r * static_cast<int64_t>(c_.ffn) + first, last - first, gate);
    if (quantize) s_.gated.Quantize(r, first, last);
  }
  Barrier(threads);
  Linear(layer.down, s_.gated, count, s_.projected, thread, threads);
  Barrier(threads);
}

void ForwardPass::Logits(Range rows, int thread, int threads) {
  const bool quantize = NeedsQuantized({&w_.output});
  const bool tapped = std::any_of(taps_.begin(), taps_.end(),
                                  [&](const HiddenTap& tap) { return tap.layer == c_.layers; });
  if (tapped) {
    Norm(w_.output_norm, false, rows);
    CopyTaps(c_.layers, s_.normed.f32, rows);
  }
  Barrier(threads);
  const int count = static_cast<int>(s_.logit_rows.size());
  if (count == 0) return;
  // Rows that want logits move to the front: normed row i is logit row i.
  const Range wanted = Partition(count, thread, threads);
  for (int64_t i = wanted.begin; i < wanted.end; ++i) {
    RmsNorm(s_.x + s_.logit_rows[i] * static_cast<int64_t>(c_.hidden), w_.output_norm.data(),
            c_.norm_eps, c_.hidden, s_.normed.f32 + i * c_.hidden);
    if (quantize) s_.normed.Quantize(static_cast<int>(i), 0, c_.hidden);
  }
  Barrier(threads);
  Linear(w_.output, s_.normed, count, s_.logits, thread, threads);
}

const float* Model::Forward(std::span<const SequenceRows> sequences, ModelKv& kv,
                            std::span<const HiddenTap> taps) {
  int rows = 0, logit_rows = 0;
  for (const SequenceRows& sequence : sequences) {
    const int count = static_cast<int>(sequence.tokens.size());
    rows += count;
    logit_rows += std::max(0, count - sequence.logits_from);
  }
  HUNCH_CHECK_LE(rows, limits_.max_rows);
  HUNCH_CHECK_LE(logit_rows, limits_.max_logit_rows);
  ForwardPass pass(config_, weights_, *scratch_, sequences, kv, taps);
  pool_.Run([&](int thread, int threads) { pass.Run(thread, threads); });
  return scratch_->logits;
}

}  // namespace hunch

// The forward pass. One pool job runs the whole pass; its members meet at a barrier between phases,
// which costs a fraction of a fork-join each (a 30-layer model has over 200 phases).
#include <algorithm>
#include <cmath>

#include "model/forward_pass.h"
#include "model/model.h"

namespace hunch {

bool NeedsQuantized(std::initializer_list<const PackedMatrix*> consumers) {
  for (const PackedMatrix* matrix : consumers) {
    if (UsesQuantizedActs(matrix->type())) return true;
  }
  return false;
}

Model::Model(std::shared_ptr<const GgufFile> file, ThreadPool& pool, ForwardLimits limits)
    : file_(std::move(file)), pool_(pool), limits_(limits) {}
Model::~Model() = default;

Result<std::unique_ptr<Model>> Model::Load(std::shared_ptr<const GgufFile> file, ThreadPool& pool,
                                           const ForwardLimits& limits, const LoadOptions& load,
                                           ThreadPool* packing) {
  std::unique_ptr<Model> model(new Model(std::move(file), pool, limits));
  HUNCH_ASSIGN_OR_RETURN(model->config_, ReadModelConfig(*model->file_));
  HUNCH_ASSIGN_OR_RETURN(model->weights_, LoadWeights(*model->file_, model->config_,
                                                      packing == nullptr ? pool : *packing, load));
  model->kept_tokens_ = load.kept_tokens;
  HUNCH_ASSIGN_OR_RETURN(model->scratch_, PassScratch::Create(model->config_, limits, pool.size(),
                                                              model->logit_columns()));
  return model;
}

void ForwardPass::Run() {
  PlanRows();
  EachRow(row_count(), [&](int64_t r) {
    w_.Embed(s_.rows[r].token, s_.x + r * c_.hidden);
    SetRope(r);
  });
  for (int index = 0; index < c_.layers; ++index) {
    const LayerWeights& layer = w_.layers[index];
    const bool quantize = NeedsQuantized({&layer.q, &layer.k, &layer.v});
    EachRow(row_count(), [&](int64_t r) {
      if (index > 0) AddResidual(r, index - 1);
      Norm(r, r, layer.attn_norm, quantize);
    });
    Layer(layer, kv_.layer(index), s_.normed);
  }
  EachRow(row_count(), [&](int64_t r) { AddResidual(r, c_.layers - 1); });
  ComputeLogits();
}

void ForwardPass::SetRope(int64_t r) {
  RopeAngles(s_.rows[r].position, c_.rope_frequencies.data(), c_.rope_pairs(),
             s_.cos_sin + r * 2 * c_.rope_pairs());
}

void ForwardPass::Layer(const LayerWeights& layer, const KvLayer& kv, const ActBuffer& input) {
  AttentionBlock(layer, kv, input);
  EachRow(row_count(), [&](int64_t r) {
    AddInPlace(s_.x + r * c_.hidden, s_.projected + r * c_.hidden, c_.hidden);
    const bool quantize = NeedsQuantized({&layer.gate, &layer.up});
    Norm(r, r, layer.ffn_norm, quantize);
    s_.spiked[r] = quantize && SpillSpikes(s_.normed, r, s_.spill);
  });
  FeedForwardBlock(layer);
}

void ForwardPass::AddResidual(int64_t r, int layer) {
  AddInPlace(s_.x + r * c_.hidden, s_.projected + r * c_.hidden, c_.hidden);
  CopyTaps(r, layer, s_.x + r * c_.hidden);
}

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
  // Where row 0 is or would be, of the rows of the pass.
  const int first = static_cast<int>(row_count()) - sequence.rows_before;
  const int count = static_cast<int>(sequence.tokens.size());
  for (int row = sequence.rows_before; row < count; ++row) {
    HUNCH_CHECK_LT(static_cast<uint32_t>(sequence.tokens[row]), static_cast<uint32_t>(c_.vocab));
    const RowView view = ViewOf(sequence, row);
    const int slot = sequence.committed + row;
    s_.rows.push_back({sequence.tokens[row], view.contiguous + view.extras - 1,
                       sequence.blocks[slot / kKvBlock], slot % kKvBlock});
    s_.views.push_back(view);
    if (row >= sequence.logits_from) s_.logit_rows.push_back(first + row);
  }
  for (int row = sequence.rows_before; row < count; row += kTileRows) {
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

void ForwardPass::AttentionBlock(const LayerWeights& layer, const KvLayer& kv,
                                 const ActBuffer& input) {
  pool_.Run([&](int share, int shares) {
    Linear(layer.q, input, row_count(), s_.q, share, shares);
    Linear(layer.k, input, row_count(), s_.k, share, shares);
    Linear(layer.v, input, row_count(), s_.v, share, shares);
  });
  EachRow(row_count(), [&](int64_t r) { FinishQkv(layer, kv, r); });
  const bool quantize = NeedsQuantized({&layer.o});
  // Whole activation blocks per KV head can be quantised where they were made; thinner ones wait
  // for all.
  const bool fused = quantize && c_.q_size() / c_.kv_heads % kActBlock == 0;
  if (!AttendByChunks(kv, fused)) Attend(kv, fused);
  if (quantize && !fused) {
    EachRow(row_count(),
            [&](int64_t r) { s_.attended.Quantize(static_cast<int>(r), 0, c_.q_size()); });
  }
  pool_.Run([&](int share, int shares) {
    Linear(layer.o, s_.attended, row_count(), s_.projected, share, shares);
  });
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

AttentionArgs ForwardPass::ArgsOf(const AttentionTile& tile, const KvLayer& kv) const {
  return {.layer = kv,
          .blocks = sequences_[tile.sequence].blocks.data(),
          .q = s_.q + tile.begin * c_.q_size(),
          .out = s_.attended.f32 + tile.begin * c_.q_size(),
          .views = s_.views.data() + tile.begin,
          .rows = tile.end - tile.begin,
          .heads = c_.heads,
          .scale = 1.0f / std::sqrt(static_cast<float>(c_.head_dim))};
}

void ForwardPass::QuantizeAttended(const AttentionTile& tile, int kv_head) {
  const int columns = c_.q_size() / c_.kv_heads;
  for (int r = tile.begin; r < tile.end; ++r) {
    s_.attended.Quantize(r, kv_head * columns, (kv_head + 1) * columns);
  }
}

void ForwardPass::Attend(const KvLayer& kv, bool quantize) {
  const int items = static_cast<int>(s_.tiles.size()) * c_.kv_heads;
  pool_.Run([&](int share, int shares) {
    // Rows of a prompt see more the later they come, so tiles are dealt out in turn.
    for (int item = share; item < items; item += shares) {
      const AttentionTile& tile = s_.tiles[item / c_.kv_heads];
      const int kv_head = item % c_.kv_heads;
      const AttentionArgs args = ArgsOf(tile, kv);
      Attention(args, kv_head, 0, args.rows, s_.attention + share * s_.attention_bytes);
      if (quantize) QuantizeAttended(tile, kv_head);
    }
  });
}

// A single tile over a long context: its few KV heads would not share out evenly (3 on 2 threads
// are 2:1), so chunks of positions are dealt out too, with the same bits. False: not such a case.
bool ForwardPass::AttendByChunks(const KvLayer& kv, bool quantize) {
  if (s_.tiles.size() != 1 || pool_.size() == 1) return false;
  const AttentionTile& tile = s_.tiles.front();
  const AttentionArgs args = ArgsOf(tile, kv);
  const int chunks = AttentionChunks(args);
  if (chunks < 2 || AttentionPartialsFloats(args) > s_.partials_floats) return false;
  pool_.Run([&](int share, int shares) {
    const Range range = Partition(c_.kv_heads * chunks, share, shares);
    for (int item = static_cast<int>(range.begin); item < range.end;) {
      const int kv_head = item / chunks, first = item % chunks;
      const int last = std::min<int>(chunks, first + static_cast<int>(range.end) - item);
      AttentionPartials(args, kv_head, 0, args.rows, first, last, s_.partials,
                        s_.attention + share * s_.attention_bytes);
      item += last - first;
    }
  });
  pool_.Run([&](int share, int shares) {
    for (int kv_head = share; kv_head < c_.kv_heads; kv_head += shares) {
      AttentionMerge(args, kv_head, 0, args.rows, s_.partials);
      if (quantize) QuantizeAttended(tile, kv_head);
    }
  });
  return true;
}

void ForwardPass::FeedForwardBlock(const LayerWeights& layer) {
  pool_.Run([&](int share, int shares) { GateAndUp(layer, share, shares); });
  pool_.Run([&](int share, int shares) {
    Linear(layer.down, s_.gated, row_count(), s_.projected, share, shares);
  });
}

// Shares are whole activation blocks (two groups), so each gates and quantises what it computed.
void ForwardPass::GateAndUp(const LayerWeights& layer, int share, int shares) {
  constexpr int kGroupsPerBlock = kActBlock / kGroupRows;
  const int64_t groups = layer.gate.groups();
  const Range blocks = Partition((groups + kGroupsPerBlock - 1) / kGroupsPerBlock, share, shares);
  const int64_t begin = blocks.begin * kGroupsPerBlock;
  const int64_t end = std::min(blocks.end * kGroupsPerBlock, groups);
  if (begin >= end) return;
  const ActRows acts = s_.normed.View(static_cast<int>(row_count()));
  MatMul(layer.gate, acts, s_.gated.f32, c_.ffn, begin, end);
  MatMul(layer.up, acts, s_.up, c_.ffn, begin, end);
  const int64_t first = begin * kGroupRows;
  const int64_t last = std::min<int64_t>(end * kGroupRows, c_.ffn);
  const bool quantize = NeedsQuantized({&layer.down});
  for (int64_t r = 0; r < row_count(); ++r) {
    if (s_.spiked[r]) {
      AddSpill(layer.gate, r, begin, end, s_.gated.f32 + r * c_.ffn);
      AddSpill(layer.up, r, begin, end, s_.up + r * c_.ffn);
    }
    float* gate = s_.gated.f32 + r * c_.ffn + first;
    SiluMul(gate, s_.up + r * c_.ffn + first, last - first, gate);
    if (quantize) s_.gated.Quantize(static_cast<int>(r), first, last);
  }
}

// y[ffn] += spill of row r times groups [begin, end) of w.
void ForwardPass::AddSpill(const PackedMatrix& w, int64_t r, int64_t begin, int64_t end, float* y) {
  if (!UsesQuantizedActs(w.type())) return;  // fp32 activations lost nothing
  MatMul(w, s_.spill.Row(r), s_.spill_out, c_.ffn, begin, end);
  const int64_t first = begin * kGroupRows;
  AddInPlace(y + first, s_.spill_out + first, std::min<int64_t>(end * kGroupRows, c_.ffn) - first);
}

void ForwardPass::ComputeLogits() {
  const bool tapped = std::any_of(taps_.begin(), taps_.end(),
                                  [&](const HiddenTap& tap) { return tap.layer == c_.layers; });
  if (tapped) {
    EachRow(row_count(), [&](int64_t r) {
      Norm(r, r, w_.output_norm, false);
      CopyTaps(r, c_.layers, s_.normed.f32 + r * c_.hidden);
    });
  }
  const int64_t count = static_cast<int64_t>(s_.logit_rows.size());
  if (count == 0) return;
  // Rows that want logits move to the front: normed row i is logit row i.
  EachRow(count, [&](int64_t i) {
    Norm(s_.logit_rows[i], i, w_.output_norm, NeedsQuantized({&output_}));
  });
  pool_.Run(
      [&](int share, int shares) { LogitsAndMaxima(static_cast<int>(count), share, shares); });
}

// In pieces of 1024 outputs, whose logits (8 rows: 32 KiB) are still in the cache when their maxima
// are taken.
void ForwardPass::LogitsAndMaxima(int rows, int share, int shares) {
  constexpr int64_t kPiece = 1024 / kLogitBlock;
  constexpr int64_t kGroupsPerBlock = kLogitBlock / kGroupRows;
  const int64_t columns = output_.rows();
  const int64_t blocks = LogitBlocks(columns);
  const Range mine = Partition(blocks, share, shares);
  for (int64_t begin = mine.begin; begin < mine.end; begin += kPiece) {
    const int64_t end = std::min(begin + kPiece, mine.end);
    MatMul(output_, s_.normed.View(rows), s_.logits, columns, begin * kGroupsPerBlock,
           std::min(end * kGroupsPerBlock, output_.groups()));
    const int64_t first = begin * kLogitBlock;
    const int64_t tokens = std::min(end * kLogitBlock, columns) - first;
    for (int r = 0; r < rows; ++r) {
      BlockMaxima(s_.logits + r * columns + first, tokens, s_.maxima + r * blocks + begin);
    }
  }
}

int LogitRows(std::span<const SequenceRows> sequences) {
  int rows = 0;
  for (const SequenceRows& sequence : sequences) {
    rows += std::max(0, static_cast<int>(sequence.tokens.size()) - sequence.logits_from);
  }
  return rows;
}

Logits Model::Forward(std::span<const SequenceRows> sequences, ModelKv& kv,
                      std::span<const HiddenTap> taps) {
  int rows = 0;
  for (const SequenceRows& sequence : sequences) {
    const int count = static_cast<int>(sequence.tokens.size());
    HUNCH_CHECK_LE(sequence.rows_before, sequence.logits_from);
    rows += count - sequence.rows_before;
  }
  HUNCH_CHECK_LE(rows, limits_.max_rows);
  HUNCH_CHECK_LE(LogitRows(sequences), limits_.max_logit_rows);
  ForwardPass(config_, weights_, *scratch_, pool_, sequences, kv, taps).Run();
  return {scratch_->logits, scratch_->maxima};
}

}  // namespace hunch

#include "draft/head_model.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "kernels/ops.h"
#include "model/forward_pass.h"

namespace hunch {

HeadModel::HeadModel(const HeadConfig& config, const Model& target, ThreadPool& pool,
                     const ForwardLimits& limits)
    : config_(config),
      target_(target),
      pool_(pool),
      limits_(limits),
      layer_config_(HeadLayerConfig(config, target.config().context_length)),
      wide_(config.tokens, config.target.vocabulary.size, limits.max_logit_rows) {
  HUNCH_CHECK_EQ(target.config().hidden, config.target.hidden);
  HUNCH_CHECK_GE(limits.max_rows, target.limits().max_rows);
  HUNCH_CHECK_LE(config.target.vocabulary.size, target.config().vocab);
}

Result<std::unique_ptr<HeadModel>> HeadModel::Load(const GgufFile& file, const HeadConfig& config,
                                                   const Model& target, ThreadPool& pool,
                                                   const ForwardLimits& limits, KvType kv_type,
                                                   int kv_blocks, ThreadPool* packing) {
  std::unique_ptr<HeadModel> head(new HeadModel(config, target, pool, limits));
  HUNCH_ASSIGN_OR_RETURN(head->weights_, LoadHeadWeights(file, config, target.file(),
                                                         packing == nullptr ? pool : *packing));
  HUNCH_ASSIGN_OR_RETURN(head->kv_, ModelKv::Create(head->layer_config_, kv_type, kv_blocks));
  const int columns = head->own_output() ? config.output_rows() : head->vocab();
  HUNCH_ASSIGN_OR_RETURN(head->scratch_,
                         PassScratch::Create(head->layer_config_, limits, pool.size(), columns));
  HUNCH_ASSIGN_OR_RETURN(head->memory_, AlignedBuffer::Create(head->Layout(nullptr)));
  head->Layout(head->memory_.data());
  for (size_t i = 0; i < config.taps.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i) * limits.max_rows * config.target.hidden;
    head->taps_.push_back({config.taps[i], head->tapped_ + at});
  }
  head->pass_rows_.reserve(limits.max_rows);
  head->stored_.reserve(2 * limits.max_rows);
  head->kept_.reserve(limits.max_rows);
  head->rows_.reserve(limits.max_rows);
  return head;
}

size_t HeadModel::Layout(std::byte* base) {
  Carver carver(base);
  const int64_t rows = limits_.max_rows;
  carver.Take(tapped_, rows * config_.tap_size());
  carver.Take(fuse_in_, limits_.max_rows, config_.tap_size());
  carver.Take(fused_, rows * hidden());
  carver.Take(joined_, limits_.max_rows, 2 * hidden());
  return carver.used();
}

uint64_t HeadModel::ScratchBytes(const HeadConfig& config, int context, const ForwardLimits& limits,
                                 int threads) {
  const int64_t rows = limits.max_rows;
  // Taps and their int8 form, what is made of them, embeddings and features.
  const int64_t floats = rows * (3 * config.tap_size() + 4 * config.target.hidden);
  // Of an eagle without tokens of its own the target may have a few rows more.
  uint64_t bytes =
      static_cast<uint64_t>(floats) * sizeof(float) +
      Model::ScratchBytes(HeadLayerConfig(config, context), limits, threads, config.output_rows());
  if (!config.tokens.empty()) {
    bytes += WideRows::Bytes(config.target.vocabulary.size, limits.max_logit_rows);
  }
  return bytes;
}

void HeadModel::Lay(const LaidRows& laid) {
  HUNCH_CHECK_LE(laid.tokens.size(), laid.pass_rows.size() + laid.feature_known);
  HUNCH_CHECK_LE(pass_rows_.size() + laid.pass_rows.size(), static_cast<size_t>(limits_.max_rows));
  auto fused = static_cast<int64_t>(pass_rows_.size());
  for (size_t i = 0; i < laid.tokens.size(); ++i) {
    const int slot = laid.slot + static_cast<int>(i);
    const bool known = laid.feature_known && i == 0;
    const float* const feature = known ? laid.feature : fused_ + fused++ * hidden();
    stored_.push_back({laid.tokens[i], feature, nullptr, slot, laid.blocks[slot / kKvBlock]});
  }
  pass_rows_.insert(pass_rows_.end(), laid.pass_rows.begin(), laid.pass_rows.end());
  kept_.push_back({static_cast<int64_t>(pass_rows_.size()) - 1, laid.feature});
}

void HeadModel::Read() {
  if (pass_rows_.empty()) return;
  Fuse();
  // One more than was laid for each sequence that is over: there may be too many for one time.
  const auto most = static_cast<size_t>(limits_.max_rows);
  for (size_t at = 0; at < stored_.size(); at += most) {
    Store(std::span(stored_).subspan(at, std::min(most, stored_.size() - at)));
  }
  for (const Kept& kept : kept_) {
    std::copy_n(fused_ + kept.row * hidden(), hidden(), kept.feature);
  }
  pass_rows_.clear();
  stored_.clear();
  kept_.clear();
}

// fused_: one feature out of each laid row's taps. An eagle's feature is its one tap.
void HeadModel::Fuse() {
  const auto rows = static_cast<int64_t>(pass_rows_.size());
  if (config_.kind == HeadKind::kEagle) {
    for (int64_t r = 0; r < rows; ++r) {
      std::copy_n(tapped_ + int64_t{pass_rows_[r]} * hidden(), hidden(), fused_ + r * hidden());
    }
    return;
  }
  const bool quantize = NeedsQuantized({&weights_.fc});
  EachRow(pool_, rows, [&](int64_t r) {
    float* out = fuse_in_.f32 + r * fuse_in_.k;
    for (const HiddenTap& tap : taps_) {
      std::copy_n(tap.out + int64_t{pass_rows_[r]} * hidden(), hidden(), out);
      out += hidden();
    }
    if (quantize) fuse_in_.Quantize(static_cast<int>(r), 0, fuse_in_.k);
  });
  pool_.Run(
      [&](int share, int shares) { Linear(weights_.fc, fuse_in_, rows, fused_, share, shares); });
}

// Fills the residual stream and gives what q, k and v are made of.
const ActBuffer& HeadModel::Enter(std::span<const Row> rows) {
  const auto count = static_cast<int64_t>(rows.size());
  const LayerWeights& layer = weights_.layer.layers.front();
  const bool eagle3 = config_.kind == HeadKind::kEagle3;
  const bool layer_quantized = NeedsQuantized({&layer.q, &layer.k, &layer.v});
  const bool quantize = eagle3 ? layer_quantized : NeedsQuantized({&weights_.fc});
  const float eps = config_.norm_eps;
  EachRow(pool_, count, [&](int64_t r) {
    float* const embedding = joined_.f32 + r * joined_.k;
    float* const feature = embedding + hidden();
    target_.weights().Embed(rows[r].token, embedding);
    std::copy_n(rows[r].feature, hidden(), feature);
    if (eagle3) {
      float* const x = scratch_->x + r * hidden();
      if (!config_.normed_residual) std::copy_n(feature, hidden(), x);
      RmsNorm(embedding, layer.attn_norm.data(), eps, hidden(), embedding);
      RmsNorm(feature, weights_.hidden_norm.data(), eps, hidden(), feature);
      if (config_.normed_residual) std::copy_n(feature, hidden(), x);
    }
    if (quantize) joined_.Quantize(static_cast<int>(r), 0, joined_.k);
  });
  if (eagle3) return joined_;
  pool_.Run([&](int share, int shares) {
    Linear(weights_.fc, joined_, count, scratch_->x, share, shares);
  });
  EachRow(pool_, count, [&](int64_t r) {
    float* const x = scratch_->x + r * hidden();
    if (!weights_.fc_bias.empty()) AddInPlace(x, weights_.fc_bias.data(), hidden());
    std::copy_n(x, hidden(), scratch_->normed.f32 + r * hidden());
    if (layer_quantized) scratch_->normed.Quantize(static_cast<int>(r), 0, hidden());
  });
  return scratch_->normed;
}

// Nobody asks what comes of these rows, so keys and values are all that is made of them.
void HeadModel::Store(std::span<const Row> stored) {
  const auto rows = static_cast<int64_t>(stored.size());
  const LayerWeights& layer = weights_.layer.layers.front();
  const ActBuffer& input = Enter(stored);
  pool_.Run([&](int share, int shares) {
    Linear(layer.k, input, rows, scratch_->k, share, shares);
    Linear(layer.v, input, rows, scratch_->v, share, shares);
  });
  EachRow(pool_, rows, [&](int64_t r) {
    const Row& row = stored[r];
    const int pairs = layer_config_.rope_pairs();
    float* const cos_sin = scratch_->cos_sin + r * 2 * pairs;
    float* const k = scratch_->k + r * config_.kv_size();
    RopeAngles(row.slot, layer_config_.rope_frequencies.data(), pairs, cos_sin);
    Rope(k, config_.kv_heads, config_.head_dim, pairs, cos_sin, layer_config_.rope_neox);
    KvStore(kv_.layer(0), row.block, row.slot % kKvBlock, k, scratch_->v + r * config_.kv_size());
  });
}

Logits HeadModel::Forward(std::span<const SequenceRows> sequences) {
  rows_.clear();
  for (const SequenceRows& sequence : sequences) {
    const int count = static_cast<int>(sequence.tokens.size());
    for (int row = sequence.rows_before; row < count; ++row) {
      const int parent = sequence.parents.empty() ? row - 1 : sequence.parents[row];
      HUNCH_CHECK_LT(parent, sequence.rows_before);
      HUNCH_CHECK_LT(rows_.size(), static_cast<size_t>(limits_.max_rows));
      rows_.push_back({.token = sequence.tokens[row],
                       .feature = sequence.features + int64_t{1 + parent} * hidden(),
                       .out = sequence.features + int64_t{1 + row} * hidden()});
    }
  }
  HUNCH_CHECK_LE(LogitRows(sequences), limits_.max_logit_rows);
  ForwardPass pass(layer_config_, weights_.layer, *scratch_, pool_, sequences, kv_, {},
                   own_output() ? nullptr : &target_.weights().output);
  pass.PlanRows();
  const ActBuffer& input = Enter(rows_);
  const int64_t count = pass.row_count();
  pass.EachRow(count, [&](int64_t r) { pass.SetRope(r); });
  pass.Layer(weights_.layer.layers.front(), kv_.layer(0), input);
  pass.EachRow(count, [&](int64_t r) {
    pass.AddResidual(r, 0);
    std::copy_n(scratch_->x + r * hidden(), hidden(), rows_[r].out);
  });
  pass.ComputeLogits();
  const Logits logits = {scratch_->logits, scratch_->maxima};
  return config_.tokens.empty() ? logits : wide_.Widen(logits, LogitRows(sequences));
}

}  // namespace hunch

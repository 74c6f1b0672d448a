#include "draft/medusa_model.h"

#include <algorithm>

#include "base/check.h"
#include "draft/head_loader.h"
#include "kernels/ops.h"
#include "kernels/row_ops.h"
#include "model/forward_pass.h"

namespace hunch {

MedusaModel::MedusaModel(const HeadConfig& config, ThreadPool& pool, const ForwardLimits& limits)
    : config_(config),
      pool_(pool),
      limits_(limits),
      wide_(config.tokens, config.target.vocabulary.size, limits.max_logit_rows) {}

size_t MedusaModel::Layout(int target_rows, std::byte* base) {
  Carver carver(base);
  const int rows = limits_.max_logit_rows;
  const int64_t columns = config_.output_rows();
  carver.Take(tap_.out, int64_t{target_rows} * hidden());
  carver.Take(in_, rows, hidden());
  carver.Take(out_, rows, hidden());
  carver.Take(scored_, rows * columns);
  carver.Take(logits_, rows * columns);
  carver.Take(maxima_, rows * LogitBlocks(columns));
  carver.Take(ones_, hidden());
  return carver.used();
}

uint64_t MedusaModel::WeightBytes(const GgufFile& file, const HeadConfig& config) {
  return HeadMatrixBytes(file, config) + HeadVectorBytes(config);
}

uint64_t MedusaModel::ScratchBytes(const HeadConfig& config, int target_rows,
                                   const ForwardLimits& limits) {
  const int64_t hidden = config.target.hidden;
  const int64_t columns = config.output_rows();
  // The tap; two activations with their int8 form; logits twice, and their maxima.
  const int64_t floats = target_rows * hidden + limits.max_logit_rows * (3 * hidden + 3 * columns);
  uint64_t bytes = static_cast<uint64_t>(floats) * sizeof(float);
  if (!config.tokens.empty()) {
    bytes += WideRows::Bytes(config.target.vocabulary.size, limits.max_logit_rows);
  }
  return bytes;
}

Result<std::unique_ptr<MedusaModel>> MedusaModel::Load(const GgufFile& file,
                                                       const HeadConfig& config, int target_rows,
                                                       ThreadPool& pool,
                                                       const ForwardLimits& limits,
                                                       ThreadPool* packing) {
  using namespace head_tensors;
  std::unique_ptr<MedusaModel> model(new MedusaModel(config, pool, limits));
  HUNCH_ASSIGN_OR_RETURN(model->weights_, AlignedBuffer::Create(HeadMatrixBytes(file, config)));
  HeadLoader loader(file, packing == nullptr ? pool : *packing, model->weights_);
  for (int index = 0; index < config.medusa_heads; ++index) {
    Head& head = model->heads_.emplace_back();
    HUNCH_RETURN_IF_ERROR(loader.Take(MedusaFc(index), head.fc));
    HUNCH_RETURN_IF_ERROR(loader.Take(MedusaOutput(index), head.output));
    head.bias = loader.Vector(MedusaFcBias(index));
  }
  HUNCH_ASSIGN_OR_RETURN(model->memory_,
                         AlignedBuffer::Create(model->Layout(target_rows, nullptr)));
  model->Layout(target_rows, model->memory_.data());
  model->tap_.layer = config.taps.front();
  std::fill_n(model->ones_, config.target.hidden, 1.0f);
  model->rows_.reserve(limits.max_logit_rows);
  model->picked_.reserve(limits.max_logit_rows);
  return model;
}

Logits MedusaModel::Forward(std::span<const SequenceRows> sequences) {
  HUNCH_CHECK_LE(LogitRows(sequences), limits_.max_logit_rows);
  rows_.clear();
  for (const SequenceRows& sequence : sequences) {
    HUNCH_CHECK_EQ(sequence.logits_from, sequence.rows_before);
    const int count = static_cast<int>(sequence.tokens.size());
    for (int row = sequence.rows_before; row < count; ++row) {
      int head = 0;
      if (!sequence.parents.empty()) {
        for (int at = row; at >= 0; at = sequence.parents[at]) ++head;
      }
      HUNCH_CHECK_LT(head, config_.medusa_heads);
      rows_.push_back({head, sequence.features});
    }
  }
  for (int head = 0; head < config_.medusa_heads; ++head) Run(heads_[head], head);
  const Logits logits = {logits_, maxima_};
  const int count = static_cast<int>(rows_.size());
  return config_.tokens.empty() ? logits : wide_.Widen(logits, count);
}

// The logits of all rows that are head `index`'s.
void MedusaModel::Run(const Head& head, int index) {
  picked_.clear();
  for (size_t row = 0; row < rows_.size(); ++row) {
    if (rows_[row].head == index) picked_.push_back(static_cast<int>(row));
  }
  const auto count = static_cast<int64_t>(picked_.size());
  if (count == 0) return;
  const bool quantize_in = NeedsQuantized({&head.fc});
  const bool quantize_out = NeedsQuantized({&head.output});
  const int64_t columns = config_.output_rows();
  EachRow(pool_, count, [&](int64_t r) {
    std::copy_n(rows_[picked_[r]].feature, hidden(), in_.f32 + r * hidden());
    if (quantize_in) in_.Quantize(static_cast<int>(r), 0, hidden());
  });
  pool_.Run([&](int share, int shares) { Linear(head.fc, in_, count, out_.f32, share, shares); });
  EachRow(pool_, count, [&](int64_t r) {
    float* const out = out_.f32 + r * hidden();
    AddInPlace(out, head.bias.data(), hidden());
    SiluMul(out, ones_, hidden(), out);
    AddInPlace(out, in_.f32 + r * hidden(), hidden());
    if (quantize_out) out_.Quantize(static_cast<int>(r), 0, hidden());
  });
  pool_.Run(
      [&](int share, int shares) { Linear(head.output, out_, count, scored_, share, shares); });
  EachRow(pool_, count, [&](int64_t r) {
    float* const to = logits_ + picked_[r] * columns;
    std::copy_n(scored_ + r * columns, columns, to);
    BlockMaxima(to, columns, maxima_ + picked_[r] * LogitBlocks(columns));
  });
}

}  // namespace hunch

#include "model/scratch.h"

#include <algorithm>
#include <cmath>

namespace hunch {
namespace {

constexpr size_t kCacheLine = 64;

size_t AttentionBytes(const ModelConfig& config) {
  AttentionArgs args = {};
  args.layer.kv_heads = config.kv_heads;
  args.layer.head_dim = config.head_dim;
  args.rows = kTileRows;
  args.heads = config.heads;
  return (AttentionScratchBytes(args) + kCacheLine - 1) / kCacheLine * kCacheLine;
}

// Longer contexts take the path without partials.
constexpr int kMaxPartialsContext = 1 << 17;

int64_t PartialsFloats(const ModelConfig& config) {
  const int64_t chunks = std::min(config.context_length, kMaxPartialsContext) / kAttentionChunk + 1;
  return chunks * kTileRows * config.heads * (config.head_dim + kAttentionPartialPad);
}

}  // namespace

bool IsSpiked(const int8_t* q) {
  int squares = 0;
  for (int i = 0; i < kActBlock; ++i) squares += q[i] * q[i];
  // 127^2 is one value of the block; 16600 leaves less than 3 % of the squares to the others. An
  // empty block and one that is not finite have no value of 127.
  return squares >= 127 * 127 && squares <= 16600;
}

bool SpillSpikes(const ActBuffer& acts, int64_t r, ActBuffer& spill) {
  bool any = false;
  for (int64_t at = r * acts.k; at < (r + 1) * acts.k; at += kActBlock) {
    if (!IsSpiked(acts.q + at)) continue;
    if (!any) std::fill_n(spill.f32 + r * acts.k, acts.k, 0.0f);
    any = true;
    const float scale = acts.scale[at / kActBlock];
    for (int i = 0; i < kActBlock; ++i) {
      spill.f32[at + i] = std::fma(-scale, static_cast<float>(acts.q[at + i]), acts.f32[at + i]);
    }
  }
  if (any) spill.Quantize(static_cast<int>(r), 0, acts.k);
  return any;
}

size_t PassScratch::Layout(std::byte* base, const ModelConfig& c, const ForwardLimits& limits,
                           int threads, int logit_columns) {
  Carver carver(base);
  const int64_t rows = limits.max_rows;
  carver.Take(x, rows * c.hidden);
  carver.Take(q, rows * c.q_size());
  carver.Take(k, rows * c.kv_size());
  carver.Take(v, rows * c.kv_size());
  carver.Take(projected, rows * c.hidden);
  carver.Take(up, rows * c.ffn);
  carver.Take(cos_sin, rows * 2 * c.rope_pairs());
  carver.Take(logits, static_cast<int64_t>(limits.max_logit_rows) * logit_columns);
  carver.Take(maxima, limits.max_logit_rows * LogitBlocks(logit_columns));
  carver.Take(normed, limits.max_rows, c.hidden);
  carver.Take(attended, limits.max_rows, c.q_size());
  carver.Take(gated, limits.max_rows, c.ffn);
  carver.Take(spill, limits.max_rows, c.hidden);
  carver.Take(spill_out, c.ffn);
  attention_bytes = AttentionBytes(c);
  carver.Take(attention, static_cast<int64_t>(threads) * attention_bytes);
  partials_floats = PartialsFloats(c);
  carver.Take(partials, partials_floats);
  return carver.used();
}

Result<std::unique_ptr<PassScratch>> PassScratch::Create(const ModelConfig& config,
                                                         const ForwardLimits& limits, int threads,
                                                         int logit_columns) {
  auto scratch = std::make_unique<PassScratch>();
  const size_t bytes = scratch->Layout(nullptr, config, limits, threads, logit_columns);
  HUNCH_ASSIGN_OR_RETURN(scratch->memory, AlignedBuffer::Create(bytes));
  scratch->Layout(scratch->memory.data(), config, limits, threads, logit_columns);
  scratch->spiked.resize(limits.max_rows);
  scratch->rows.reserve(limits.max_rows);
  scratch->views.reserve(limits.max_rows);
  scratch->extras.reserve(static_cast<size_t>(limits.max_logit_rows) * limits.max_rows);
  scratch->tiles.reserve(limits.max_rows);
  scratch->logit_rows.reserve(limits.max_logit_rows);
  return scratch;
}

uint64_t Model::ScratchBytes(const ModelConfig& config, const ForwardLimits& limits, int threads,
                             int logit_columns) {
  const int columns = logit_columns > 0 ? logit_columns : config.vocab;
  return PassScratch().Layout(nullptr, config, limits, threads, columns);
}

}  // namespace hunch

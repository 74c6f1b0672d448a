// Model: config + weights -> Forward(rows of many sequences, KV views) -> logits and tapped hidden
// states. A forward pass reads like the paper: norm, attention, residual, norm, feed-forward,
// residual.
//
// Forward is called by one thread at a time (the one that owns the pool); it allocates nothing.
#ifndef HUNCH_MODEL_MODEL_H_
#define HUNCH_MODEL_MODEL_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "kernels/ops.h"
#include "kernels/row_ops.h"
#include "kv/block_pool.h"
#include "kv/storage.h"
#include "model/config.h"
#include "model/weights.h"
#include "seq/types.h"

namespace hunch {

// The KV memory of one cache for one model.
class ModelKv {
 public:
  static Result<ModelKv> Create(const ModelConfig& config, KvType type, int blocks);
  static size_t Bytes(const ModelConfig& config, KvType type, int blocks);
  KvLayer layer(int index);
  // Copies one slot's keys and values in every layer; slots are indices into `blocks`.
  void MoveSlot(std::span<const int32_t> blocks, int from, int to);

 private:
  KvStorage storage_;
  KvType type_ = KvType::kF16;
  int layers_ = 0, kv_heads_ = 0, head_dim_ = 0;
};

// One sequence's rows in a pass. Row r is written to slot committed + r of `blocks`; its position
// is committed + its depth. A tree may be read in several passes: the rows of the earlier ones come
// first and are only seen.
struct SequenceRows {
  std::span<const int32_t> blocks;   // the block table, reserved blocks included
  int committed = 0;                 // slots that every row sees
  std::span<const TokenId> tokens;   // [rows]
  std::span<const int32_t> parents;  // [rows]: an earlier row, or -1; empty: a chain
  int logits_from = 0;               // rows from this one on get logits; tokens.size(): none
  int rows_before = 0;               // that earlier passes have written; at most logits_from
  // Of a head (draft/head_model.h): the feature that root rows read, then what each row gives,
  // which its children read. Other models look at tokens alone. [1 + rows][hidden]
  float* features = nullptr;
};

// Rows of a pass that get logits.
int LogitRows(std::span<const SequenceRows> sequences);

// A copy of the residual stream: after layer `layer`, or after the final norm when layer == layers.
struct HiddenTap {
  int layer;
  float* out;  // [rows of the pass][hidden]
};

// Logits rows, and the largest logit of every 64 of them (row_ops.h), taken while they were in the
// cache: what the choice of a token looks at first. Valid until the next pass. columns: the
// vocabulary, or as many tokens of it as were kept at load.
struct Logits {
  const float* rows;    // [n][columns]
  const float* maxima;  // [n][LogitBlocks(columns)]
};

struct ForwardLimits {
  int max_rows = 256;       // of a pass, over all sequences
  int max_logit_rows = 65;  // rows of a pass that get logits
};

struct PassScratch;

class Model {
 public:
  // `file` is kept: an embedding that is not tied is read from it. `load` is for models that only
  // guess. packing: what loads it, where `pool` has other work meanwhile; null: `pool`.
  static Result<std::unique_ptr<Model>> Load(std::shared_ptr<const GgufFile> file, ThreadPool& pool,
                                             const ForwardLimits& limits,
                                             const LoadOptions& load = {},
                                             ThreadPool* packing = nullptr);
  ~Model();

  const GgufFile& file() const { return *file_; }
  const ModelConfig& config() const { return config_; }
  const ForwardLimits& limits() const { return limits_; }
  const ModelWeights& weights() const { return weights_; }
  // Columns of a logits row, and the token of each; empty: column i is token i.
  int logit_columns() const { return static_cast<int>(weights_.output.rows()); }
  std::span<const TokenId> kept_tokens() const { return kept_tokens_; }

  // Logits of the rows that asked for them, in order. CHECKs the limits and that every token is
  // below vocab.
  Logits Forward(std::span<const SequenceRows> sequences, ModelKv& kv,
                 std::span<const HiddenTap> taps = {});

  // logit_columns: 0 for the whole vocabulary.
  static uint64_t ScratchBytes(const ModelConfig& config, const ForwardLimits& limits, int threads,
                               int logit_columns = 0);

 private:
  Model(std::shared_ptr<const GgufFile> file, ThreadPool& pool, ForwardLimits limits);

  std::shared_ptr<const GgufFile> file_;
  ThreadPool& pool_;
  ForwardLimits limits_;
  ModelConfig config_;
  ModelWeights weights_;
  std::vector<TokenId> kept_tokens_;
  std::unique_ptr<PassScratch> scratch_;
};

}  // namespace hunch

#endif  // HUNCH_MODEL_MODEL_H_

// HeadModel: a head of kind eagle3 (arXiv 2503.01840) or eagle (2401.15077; docs/formats.md) over
// its own KV memory, shared by the drafters of many sequences. It reads what is committed with the
// target's hidden states (HiddenReader), for which keys and values are enough; and passes of
// guesses, each with what the row before it gave (Target).
//
// A row stands for a token and the feature of the position before it, so slot s of a sequence holds
// token s + 1 and position s. Memory: taps and scratch for the target's largest pass. Neither Read
// nor Forward allocates. Confined to the thread that owns the pool.
#ifndef HUNCH_DRAFT_HEAD_MODEL_H_
#define HUNCH_DRAFT_HEAD_MODEL_H_

#include <memory>
#include <span>
#include <vector>

#include "draft/head_file.h"
#include "draft/head_weights.h"
#include "draft/hidden_drafter.h"
#include "model/scratch.h"
#include "model/target.h"

namespace hunch {

// What one sequence lays to be read.
struct LaidRows {
  std::span<const int32_t> blocks;  // its block table
  int slot = 0;                     // of the first token
  // Their keys and values are stored from there on. Their features are *feature, if it is known,
  // and those of pass_rows, one after the other; what is left over is not stored.
  std::span<const TokenId> tokens;
  std::span<const int32_t> pass_rows;  // of the target's last pass; at least one
  float* feature = nullptr;            // [hidden]: becomes that of the last of pass_rows
  bool feature_known = false;
};

class HeadModel : public Target, public HiddenReader {
 public:
  // `config` is what ReadHeadConfig gave of the file, and `target`, which must outlive this, the
  // model that it is for. limits: of the head's passes; max_rows those of the target's.
  static Result<std::unique_ptr<HeadModel>> Load(const GgufFile& file, const HeadConfig& config,
                                                 const Model& target, ThreadPool& pool,
                                                 const ForwardLimits& limits, KvType kv_type,
                                                 int kv_blocks, ThreadPool* packing = nullptr);
  // Beside weights and KV.
  static uint64_t ScratchBytes(const HeadConfig& config, int context, const ForwardLimits& limits,
                               int threads);

  const HeadConfig& config() const { return config_; }
  int hidden() const { return config_.target.hidden; }

  // Rows of logits are as wide as the target's vocabulary, and of eagle as the target's rows.
  int vocab() const override {
    return own_output() ? config_.target.vocabulary.size : target_.config().vocab;
  }
  const ForwardLimits& limits() const override { return limits_; }
  // CHECKs that each row's parent was read by an earlier pass: its feature has to be there.
  Logits Forward(std::span<const SequenceRows> sequences) override;
  void MoveSlot(std::span<const int32_t> blocks, int from, int to) override {
    kv_.MoveSlot(blocks, from, to);
  }

  std::span<const HiddenTap> taps() const override { return taps_; }
  // The rows' *feature must live until Read.
  void Lay(const LaidRows& rows);
  void Read() override;

 private:
  struct Row {
    TokenId token;
    const float* feature;  // [hidden], of the position before it
    float* out = nullptr;  // [hidden], what the row gives; null: nobody asks
    int slot = 0;          // of rows that are only stored; its position in the head's sequence too
    int32_t block = 0;
  };
  struct Kept {
    int64_t row;     // of fused_
    float* feature;  // where it goes
  };

  HeadModel(const HeadConfig& config, const Model& target, ThreadPool& pool,
            const ForwardLimits& limits);
  // Without a matrix of its own it has the target's.
  bool own_output() const { return config_.kind == HeadKind::kEagle3 || !config_.tokens.empty(); }
  size_t Layout(std::byte* base);
  void Fuse();
  const ActBuffer& Enter(std::span<const Row> rows);
  void Store(std::span<const Row> stored);

  HeadConfig config_;
  const Model& target_;
  ThreadPool& pool_;
  ForwardLimits limits_;
  ModelConfig layer_config_;
  HeadWeights weights_;
  ModelKv kv_;
  WideRows wide_;
  std::unique_ptr<PassScratch> scratch_;
  AlignedBuffer memory_;  // of the buffers below
  std::vector<HiddenTap> taps_;
  float* tapped_ = nullptr;  // [taps][max_rows][hidden], where the target's passes leave them
  ActBuffer fuse_in_;        // k = taps * hidden, of eagle3
  float* fused_ = nullptr;   // [max_rows][hidden]
  ActBuffer joined_;         // k = 2 * hidden: embedding, feature

  std::vector<int32_t> pass_rows_;  // laid: whose features are made, in fused_
  std::vector<Row> stored_;         // laid: whose keys and values are stored
  std::vector<Kept> kept_;          // [sequences that laid]
  std::vector<Row> rows_;           // of a pass
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_HEAD_MODEL_H_

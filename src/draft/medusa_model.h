// MedusaModel: the heads of a medusa file (arXiv 2401.10774; docs/formats.md), shared by the
// drafters of many sequences. Head i looks at the target's last hidden state and scores what comes
// i + 1 tokens later; that a guess was made before it changes nothing, so a row of a tree gets the
// scores of the head for its depth, and only the heads that a tree asks for are run.
//
// It has no KV: rows of a sequence have slots for the accounts only. SequenceRows::features is the
// one hidden state, [hidden]. Forward does not allocate. Confined to the thread that owns the pool.
#ifndef HUNCH_DRAFT_MEDUSA_MODEL_H_
#define HUNCH_DRAFT_MEDUSA_MODEL_H_

#include <memory>
#include <span>
#include <vector>

#include "draft/head_file.h"
#include "draft/hidden_drafter.h"
#include "model/scratch.h"
#include "model/target.h"

namespace hunch {

class MedusaModel : public Target, public HiddenReader {
 public:
  // `config` is what ReadHeadConfig gave of the file, for a target whose passes have at most
  // target_rows rows. limits: of the heads' passes, all of whose rows get logits.
  static Result<std::unique_ptr<MedusaModel>> Load(const GgufFile& file, const HeadConfig& config,
                                                   int target_rows, ThreadPool& pool,
                                                   const ForwardLimits& limits,
                                                   ThreadPool* packing = nullptr);
  static uint64_t WeightBytes(const GgufFile& file, const HeadConfig& config);
  static uint64_t ScratchBytes(const HeadConfig& config, int target_rows,
                               const ForwardLimits& limits);

  const HeadConfig& config() const { return config_; }
  int hidden() const { return config_.target.hidden; }

  int vocab() const override { return config_.target.vocabulary.size; }
  const ForwardLimits& limits() const override { return limits_; }
  // A row without `parents` is the last committed token's, which head 0 scores; a root of a tree is
  // head 1's, and so on.
  Logits Forward(std::span<const SequenceRows> sequences) override;
  void MoveSlot(std::span<const int32_t>, int, int) override {}

  std::span<const HiddenTap> taps() const override { return {&tap_, 1}; }
  // Drafters take what they want of the tap themselves.
  void Read() override {}

 private:
  struct Head {
    PackedMatrix fc;          // [hidden][hidden]
    std::vector<float> bias;  // [hidden]
    PackedMatrix output;      // [output_rows][hidden]
  };

  MedusaModel(const HeadConfig& config, ThreadPool& pool, const ForwardLimits& limits);
  size_t Layout(int target_rows, std::byte* base);
  void Run(const Head& head, int index);

  HeadConfig config_;
  ThreadPool& pool_;
  ForwardLimits limits_;
  std::vector<Head> heads_;
  WideRows wide_;
  AlignedBuffer weights_;    // what the packed matrices are in
  AlignedBuffer memory_;     // of the buffers below
  HiddenTap tap_ = {};       // [target_rows][hidden]
  ActBuffer in_, out_;       // k = hidden: of the rows of one head
  float* scored_ = nullptr;  // [max_logit_rows][output_rows]: their logits
  float* logits_ = nullptr;  // [max_logit_rows][output_rows]
  float* maxima_ = nullptr;  // [max_logit_rows][LogitBlocks(output_rows)]
  float* ones_ = nullptr;    // [hidden]

  struct Row {
    int head;
    const float* feature;  // [hidden]
  };
  std::vector<Row> rows_;    // of the pass
  std::vector<int> picked_;  // of them, one head's
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_MEDUSA_MODEL_H_

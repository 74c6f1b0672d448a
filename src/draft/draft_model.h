// draft_model: a smaller model with the target's vocabulary guesses (Leviathan et al., arXiv
// 2211.17192; Chen et al., arXiv 2302.01318). Under `coupled` it chooses with the target's own
// noise; under `ratio` and `block` it draws from its own law, without replacement, with noise that
// nothing else uses, and leaves the law in the tree (docs/lossless.md).
//
// A chain, or a tree that grows where it is likeliest to be right: each pass reads the best few
// leaves and adds their best children. Its prompt is read lazily, at the first proposal. Its KV is
// kept across steps, accepted guesses' included: only what was rejected is forgotten. Past its own
// context it proposes nothing. The drafters of several sequences share passes (draft_passes.h).
//
// Memory: its tree of at most kMostRows read nodes; under `ratio`, in the tree that it fills, one
// row of the vocabulary for each node it read.
#ifndef HUNCH_DRAFT_DRAFT_MODEL_H_
#define HUNCH_DRAFT_DRAFT_MODEL_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "draft/draft_passes.h"
#include "draft/growing_tree.h"
#include "kv/block_pool.h"
#include "sampling/ratio_noise.h"

namespace hunch {

struct DraftModelOptions {
  int branches = 1;  // most children of a node; 1: a chain (as always under `block`)
  int expand = 1;    // most leaves that one pass reads; the model's limits may allow fewer
  // Of `ratio`: another for each drafter of a request.
  uint32_t noise_stream = RatioNoise::kFirstDrafter;
  PrefixCache::Salt cache_salt = nullptr;  // where the pool shares: only with the same salt
};

class DraftModel : public ModelDrafter {
 public:
  // Of one tree. The pool should have room for this many slots beyond the context; where it has
  // not, the trees of the last steps are smaller.
  static constexpr int kMostRows = 128;

  // model and pool must outlive the drafter. vocab_size: ids that it may propose; context:
  // positions that it may use; end_tokens: nothing is guessed after one.
  DraftModel(Target& model, BlockPool& pool, int vocab_size, int context,
             std::vector<TokenId> end_tokens, const DraftModelOptions& options = {});

  std::string_view name() const override { return "draft_model"; }
  void Constrain(std::unique_ptr<TokenConstraint> constraint) override {
    constraint_ = std::move(constraint);
  }
  Status Start(std::span<const TokenId> prompt, const SamplingParams& params) override;
  // What was accepted is seen from the next prefix.
  void Observe(const Observation&) override {}
  void Forget() override;

  Target& model() override { return model_; }
  Status Begin(std::span<const TokenId> committed, const ProposeLimits& limits,
               DraftTree& tree) override;
  int unread(std::span<const TokenId> committed) const override;
  int wanted_rows() const override;
  Result<int> LayRows(int max_rows, int max_logit_rows, SequenceRows& rows) override;
  void Take(const Logits& logits) override;
  // That it took part in, since it was made.
  int64_t passes() const { return passes_; }

 private:
  enum class Phase {
    kReads,  // what is committed and was not read yet
    kGrows,  // the tree
    kDone,
  };
  void GiveUp();
  void KeepAccepted();
  Result<int> LayCommitted(int max_rows, int max_logit_rows, SequenceRows& rows);
  int LayLeaves(int max_rows, int max_logit_rows, SequenceRows& rows);
  void StartTree(const Logits& logits);
  void NextLeaves();
  void AddChildren(int32_t parent, const Logits& logits, int row);
  void ChooseChildren(const Sampler::Row& row);
  int expand() const;
  bool Draws() const { return params_.temperature > 0 && by_ratio_; }

  Target& model_;
  int vocab_size_;
  int context_;
  std::vector<TokenId> end_tokens_;
  DraftModelOptions options_;
  int64_t passes_ = 0;

  // Of the sequence.
  SamplingParams params_;
  bool by_ratio_ = false;
  std::unique_ptr<TokenConstraint> constraint_;  // until Start; null: none
  std::optional<ConstraintCursor> cursor_;
  std::optional<Sampler> sampler_;
  std::optional<RatioNoise> noise_;
  // Slots: the tokens of read_, then the rows of the last tree.
  BlockTable table_;
  std::vector<TokenId> read_;

  // Of the proposal that is being made.
  Phase phase_ = Phase::kDone;
  std::span<const TokenId> committed_;
  ProposeLimits limits_ = {};
  DraftTree* tree_ = nullptr;
  std::optional<Reservation> reservation_;  // for what was laid, or for the whole tree
  int passes_left_ = 0;                     // for growing
  std::vector<int32_t> leaves_;             // that the next pass reads

  // Of the last tree.
  GrowingTree grown_;
  std::vector<int32_t> row_nodes_;    // which node each row reads
  std::vector<int32_t> node_rows_;    // and back; -1: not read
  std::vector<TokenId> row_tokens_;   // [rows]
  std::vector<int32_t> row_parents_;  // [rows]

  // Scratch.
  std::vector<TokenId> path_;  // committed tokens and the way to a node
  std::vector<Candidate> best_;
  std::vector<float> beliefs_;  // of best_
  std::vector<float> law_;
  int32_t law_index_ = 0;
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_DRAFT_MODEL_H_

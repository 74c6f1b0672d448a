// TreeDrafter: what all drafters share that guess with passes of a model: a draft model or a head.
// It grows a tree where it is likeliest to be right: each pass reads the best few leaves and adds
// their best children. Under `coupled` it chooses with the target's own noise; under `ratio` and
// `block` it draws from its own law, without replacement, with noise that nothing else uses, and
// leaves the law in the tree (docs/lossless.md).
//
// How it comes to know what is committed, and what of that it keeps, is the derived drafter's
// business. Past its context it proposes nothing. The drafters of several sequences share passes
// (draft_passes.h).
//
// Memory: its tree of at most kMostRows read nodes; under `ratio`, in the tree that it fills, one
// row of the vocabulary for each node it read. Not thread safe.
#ifndef HUNCH_DRAFT_TREE_DRAFTER_H_
#define HUNCH_DRAFT_TREE_DRAFTER_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "draft/draft_passes.h"
#include "draft/growing_tree.h"
#include "kv/block_pool.h"
#include "sampling/ratio_noise.h"

namespace hunch {

struct TreeDrafterOptions {
  int branches = 1;  // most children of a node; 1: a chain (as always under `block`)
  int expand = 1;    // most leaves that one pass reads; the model's limits may allow fewer
  // Of `ratio`: another for each drafter of a request.
  uint32_t noise_stream = RatioNoise::kFirstDrafter;
  PrefixCache::Salt cache_salt = nullptr;  // where the pool shares: only with the same salt
};

class TreeDrafter : public ModelDrafter {
 public:
  // Of one tree. The pool should have room for this many slots beyond the context; where it has
  // not, the trees of the last steps are smaller.
  static constexpr int kMostRows = 128;

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
  int wanted_rows() const override;
  Result<int> LayRows(int max_rows, int max_logit_rows, SequenceRows& rows) override;
  void Take(const Logits& logits) override;
  // That it took part in, since it was made.
  int64_t passes() const { return passes_; }

 protected:
  // model and pool must outlive the drafter. vocab_size: ids that it may propose; context:
  // positions that it may use; end_tokens: nothing is guessed after one.
  TreeDrafter(Target& model, BlockPool& pool, int vocab_size, int context,
              std::vector<TokenId> end_tokens, const TreeDrafterOptions& options);

  // A proposal for committed() begins: the table gets as far as it can without a pass. False: there
  // is nothing to propose.
  virtual bool Prepare() = 0;
  // Committed tokens that are still to be read; at least one, until their logits were taken.
  virtual int to_read() const = 0;
  // Lays out as many of them as there is room for, the last of all with logits.
  virtual Result<int> LayCommitted(int max_rows, int max_logit_rows, SequenceRows& rows) = 0;
  // They were read.
  virtual void TookCommitted() = 0;
  // SequenceRows::features of the tree's rows.
  virtual float* tree_features() { return nullptr; }

  // Ends a proposal that is not complete. What it has read of the committed tokens stays.
  void GiveUp();

  Target& model_;
  const int vocab_size_;
  const int context_;
  const TreeDrafterOptions options_;
  // Slots: committed tokens, then the rows of the last tree.
  BlockTable table_;
  std::optional<Reservation> reservation_;  // for what was laid, or for the whole tree

  // Of the proposal that is being made.
  std::span<const TokenId> committed_;
  // Of the last tree.
  GrowingTree grown_;
  std::vector<int32_t> row_nodes_;  // which node each row reads

 private:
  enum class Phase {
    kReads,  // what is committed and was not read yet
    kGrows,  // the tree
    kDone,
  };
  int LayLeaves(int max_rows, int max_logit_rows, SequenceRows& rows);
  void StartTree(const Logits& logits);
  void NextLeaves();
  void AddChildren(int32_t parent, const Logits& logits, int row);
  void ChooseChildren(const Sampler::Row& row);
  int expand() const;
  bool Draws() const { return params_.temperature > 0 && by_ratio_; }

  std::vector<TokenId> end_tokens_;
  int64_t passes_ = 0;

  // Of the sequence.
  SamplingParams params_;
  bool by_ratio_ = false;
  std::unique_ptr<TokenConstraint> constraint_;  // until Start; null: none
  std::optional<ConstraintCursor> cursor_;
  std::optional<Sampler> sampler_;
  std::optional<RatioNoise> noise_;

  // Of the proposal that is being made.
  Phase phase_ = Phase::kDone;
  ProposeLimits limits_ = {};
  DraftTree* tree_ = nullptr;
  int passes_left_ = 0;          // for growing
  std::vector<int32_t> leaves_;  // that the next pass reads

  // Of the last tree.
  std::vector<int32_t> node_rows_;    // which row reads each node; -1: none
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

#endif  // HUNCH_DRAFT_TREE_DRAFTER_H_

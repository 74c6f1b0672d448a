// draft_model: a smaller model with the target's vocabulary guesses (Leviathan et al., arXiv
// 2211.17192; Chen et al., arXiv 2302.01318). Under `coupled` it chooses with the target's own
// noise; under `ratio` and `block` it draws from its own law, without replacement, with noise that
// nothing else uses, and leaves the law in the tree (docs/lossless.md).
//
// A chain, or a tree that grows where it is likeliest to be right: each pass reads the best few
// leaves and adds their best children. Its prompt is read lazily, at the first proposal. Its KV is
// kept across steps, accepted guesses' included: only what was rejected is forgotten. Past its own
// context it proposes nothing.
//
// Memory: its tree of at most kMostRows read nodes; under `ratio`, in the tree that it fills, one
// row of the vocabulary for each node it read.
#ifndef HUNCH_DRAFT_DRAFT_MODEL_H_
#define HUNCH_DRAFT_DRAFT_MODEL_H_

#include <optional>
#include <vector>

#include "draft/drafter.h"
#include "draft/growing_tree.h"
#include "kv/block_pool.h"
#include "model/target.h"
#include "sampling/ratio_noise.h"

namespace hunch {

struct DraftModelOptions {
  int branches = 1;  // most children of a node; 1: a chain (as always under `block`)
  int expand = 1;    // most leaves that one pass reads; the model's limits may allow fewer
  // Of `ratio`: another for each drafter of a request.
  uint32_t noise_stream = RatioNoise::kFirstDrafter;
};

class DraftModel : public Drafter {
 public:
  // Of one tree. The pool should have room for this many slots beyond the context; where it has
  // not, the trees of the last steps are smaller.
  static constexpr int kMostRows = 128;

  // model and pool must outlive the drafter. vocab_size: ids that it may propose; context:
  // positions that it may use; end_tokens: nothing is guessed after one.
  DraftModel(Target& model, BlockPool& pool, int vocab_size, int context,
             std::vector<TokenId> end_tokens, const DraftModelOptions& options = {});

  std::string_view name() const override { return "draft_model"; }
  Status Start(std::span<const TokenId> prompt, const SamplingParams& params) override;
  Status Propose(std::span<const TokenId> committed, const ProposeLimits& limits,
                 DraftTree& tree) override;
  // What was accepted is seen from the next prefix.
  void Observe(const Observation&) override {}
  void Forget() override;
  bool makes_passes() const override { return true; }
  int64_t passes() const override { return passes_; }

 private:
  void KeepAccepted(std::span<const TokenId> committed);
  Result<Logits> Read(std::span<const TokenId> committed);
  void Grow(const Logits& first, const ProposeLimits& limits, int depth, DraftTree& tree);
  Logits ReadLeaves();
  void AddChildren(int32_t parent, const Logits& logits, int row, const ProposeLimits& limits,
                   int depth, DraftTree& tree);
  void ChooseChildren(const Sampler::Row& row, DraftTree& tree);
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
  std::optional<Sampler> sampler_;
  std::optional<RatioNoise> noise_;
  // Slots: the tokens of read_, then the rows of the last tree.
  BlockTable table_;
  std::vector<TokenId> read_;

  // Of the last tree.
  GrowingTree grown_;
  std::vector<int32_t> row_nodes_;    // which node each row reads
  std::vector<int32_t> node_rows_;    // and back; -1: not read
  std::vector<TokenId> row_tokens_;   // [rows]
  std::vector<int32_t> row_parents_;  // [rows]

  // Scratch.
  std::vector<TokenId> path_;  // committed tokens and the way to a node
  std::vector<int32_t> leaves_;
  std::vector<Candidate> best_;
  std::vector<float> beliefs_;  // of best_
  std::vector<float> law_;
  int32_t law_index_ = 0;
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_DRAFT_MODEL_H_

// eagle3, eagle2, eagle: a head guesses from the target's hidden states (Li et al., arXiv
// 2503.01840, 2401.15077), as a chain or in trees that grow by path probability (EAGLE-2, arXiv
// 2406.16858; tree_drafter.h). A guess's feature is
// what the head itself made of the row before it; where the target has read the token, the feature
// is made of its hidden states instead, so after each step the head reads what was committed anew.
//
// What was read before there was a drafter, or was found in the target's prefix cache only, has no
// hidden states: the head goes on behind the gap, with a little less to look at, and shares its KV
// no more. (A block that only its last row keeps from being known, since that reads the token
// behind it, is no gap: known() has the target read it again.) Memory: its own KV and, for the rows
// of one tree, a feature each.
#ifndef HUNCH_DRAFT_HEAD_DRAFTER_H_
#define HUNCH_DRAFT_HEAD_DRAFTER_H_

#include <string_view>
#include <utility>
#include <vector>

#include "draft/head_model.h"
#include "draft/hidden_drafter.h"
#include "draft/tree_drafter.h"

namespace hunch {

class HeadDrafter : public TreeDrafter, public HiddenDrafter {
 public:
  // As TreeDrafter's.
  HeadDrafter(HeadModel& head, BlockPool& pool, int vocab_size, int context,
              std::vector<TokenId> end_tokens, const TreeDrafterOptions& options = {})
      : TreeDrafter(head, pool, vocab_size, context, std::move(end_tokens), options), head_(head) {}

  // Memory of one drafter, beside its tree and KV.
  static uint64_t FeatureBytes(const HeadConfig& config) {
    return uint64_t{2 + kMostRows} * config.target.hidden * sizeof(float);
  }

  // An eagle head that guesses in trees is eagle2.
  std::string_view name() const override {
    if (head_.config().kind == HeadKind::kEagle3) return "eagle3";
    return options_.branches > 1 ? "eagle2" : "eagle";
  }
  HiddenDrafter* hidden_drafter() override { return this; }
  Status Start(std::span<const TokenId> prompt, const SamplingParams& params) override;
  void Forget() override;
  // All others were read when they were committed.
  int unread(std::span<const TokenId>) const override { return 1; }

  HiddenReader& reader() override { return head_; }
  Status TakeHidden(const HiddenRows& given) override;
  int known(std::span<const TokenId> tokens) const override;

 protected:
  bool Prepare() override;
  int to_read() const override { return last_read_ ? 0 : 1; }
  Result<int> LayCommitted(int max_rows, int max_logit_rows, SequenceRows& rows) override;
  void TookCommitted() override;
  float* tree_features() override { return features_.data() + head_.hidden(); }

 private:
  void SkipTo(const HiddenRows& given);
  // Positions whose hidden states it has taken, or will never see.
  int taken() const { return missing_ + stored_ + (has_feature_ ? 1 : 0); }

  HeadModel& head_;
  PrefixCache::Salt salt_;  // the options', and the first token, which no slot stands for
  int missing_ = 0;         // positions that it never saw; those before slot 0, or among the slots
  int stored_ = 0;          // slots that hold committed tokens, but for the last token's
  // features_[0] is that of the last committed token's row.
  bool has_feature_ = false;
  bool last_read_ = false;  // that row, in the proposal that is being made
  // Of the last token's row, then what that row gives, then what the tree's rows give.
  std::vector<float> features_;  // [2 + kMostRows][hidden]
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_HEAD_DRAFTER_H_

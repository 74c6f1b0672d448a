// medusa: several heads guess from the target's last hidden state, each a token further ahead (Cai
// et al., arXiv 2401.10774), in trees that grow by path probability (tree_drafter.h). What is
// accepted is what the target says, as of every drafter: the paper's typical acceptance would
// change the text. Memory: one hidden state.
#ifndef HUNCH_DRAFT_MEDUSA_DRAFTER_H_
#define HUNCH_DRAFT_MEDUSA_DRAFTER_H_

#include <string_view>
#include <utility>
#include <vector>

#include "draft/hidden_drafter.h"
#include "draft/medusa_model.h"
#include "draft/tree_drafter.h"

namespace hunch {

class MedusaDrafter : public TreeDrafter, public HiddenDrafter {
 public:
  // As TreeDrafter's; the pool has slots for a tree.
  MedusaDrafter(MedusaModel& model, BlockPool& pool, int vocab_size, int context,
                std::vector<TokenId> end_tokens, const TreeDrafterOptions& options = {})
      : TreeDrafter(model, pool, vocab_size, context, std::move(end_tokens), options),
        medusa_(model),
        feature_(model.hidden()) {}

  std::string_view name() const override { return "medusa"; }
  HiddenDrafter* hidden_drafter() override { return this; }
  void Forget() override;
  Status Begin(std::span<const TokenId> committed, const ProposeLimits& limits,
               DraftTree& tree) override;
  int unread(std::span<const TokenId>) const override { return 1; }

  HiddenReader& reader() override { return medusa_; }
  Status TakeHidden(const HiddenRows& given) override;

 protected:
  bool Prepare() override;
  int to_read() const override { return last_read_ ? 0 : 1; }
  Result<int> LayCommitted(int max_rows, int max_logit_rows, SequenceRows& rows) override;
  void TookCommitted() override { last_read_ = true; }
  float* tree_features() override { return feature_.data(); }

 private:
  MedusaModel& medusa_;
  size_t known_ = 0;            // tokens up to the one that feature_ is of; 0: none
  bool last_read_ = false;      // in the proposal that is being made
  std::vector<float> feature_;  // [hidden]
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_MEDUSA_DRAFTER_H_

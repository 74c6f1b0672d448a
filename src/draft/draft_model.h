// draft_model: a smaller model with the target's vocabulary guesses (Leviathan et al., arXiv
// 2211.17192; Chen et al., arXiv 2302.01318), in trees (tree_drafter.h).
//
// Its prompt is read lazily, at the first proposal. Its KV is kept across steps, accepted guesses'
// included: only what was rejected is forgotten.
#ifndef HUNCH_DRAFT_DRAFT_MODEL_H_
#define HUNCH_DRAFT_DRAFT_MODEL_H_

#include <string_view>
#include <utility>
#include <vector>

#include "draft/tree_drafter.h"

namespace hunch {

class DraftModel : public TreeDrafter {
 public:
  // As TreeDrafter's.
  DraftModel(Target& model, BlockPool& pool, int vocab_size, int context,
             std::vector<TokenId> end_tokens, const TreeDrafterOptions& options = {})
      : TreeDrafter(model, pool, vocab_size, context, std::move(end_tokens), options) {}

  std::string_view name() const override { return "draft_model"; }
  Status Start(std::span<const TokenId> prompt, const SamplingParams& params) override;
  void Forget() override;
  int unread(std::span<const TokenId> committed) const override;

 protected:
  bool Prepare() override;
  int to_read() const override;
  Result<int> LayCommitted(int max_rows, int max_logit_rows, SequenceRows& rows) override;
  void TookCommitted() override;

 private:
  void KeepAccepted();

  std::vector<TokenId> read_;  // what the table's first slots hold
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_DRAFT_MODEL_H_

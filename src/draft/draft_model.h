// draft_model: a smaller model with the target's vocabulary guesses a chain (Leviathan et al.,
// arXiv 2211.17192; Chen et al., arXiv 2302.01318), with the target's own noise (docs/lossless.md).
// Its prompt is read lazily, at the first proposal. Its KV is kept across steps: only what was
// rejected is forgotten. Past its own context it proposes nothing.
#ifndef HUNCH_DRAFT_DRAFT_MODEL_H_
#define HUNCH_DRAFT_DRAFT_MODEL_H_

#include <optional>
#include <vector>

#include "draft/drafter.h"
#include "kv/block_pool.h"
#include "model/target.h"

namespace hunch {

class DraftModel : public Drafter {
 public:
  // model and pool must outlive the drafter. vocab_size: ids that it may propose; context:
  // positions that it may use; end_tokens: nothing is guessed after one.
  DraftModel(Target& model, BlockPool& pool, int vocab_size, int context,
             std::vector<TokenId> end_tokens);

  std::string_view name() const override { return "draft_model"; }
  Status Start(std::span<const TokenId> prompt, const SamplingParams& params) override;
  Status Propose(std::span<const TokenId> committed, const ProposeLimits& limits,
                 DraftTree& tree) override;
  void Observe(const Observation&) override {}
  void Forget() override;
  bool makes_passes() const override { return true; }
  int64_t passes() const override { return passes_; }

 private:
  // Makes the KV hold exactly `prefix` and returns the logits after its last token.
  Result<Logits> Read(std::span<const TokenId> prefix);

  Target& model_;
  int vocab_size_;
  int context_;
  std::vector<TokenId> end_tokens_;
  BlockTable table_;
  std::vector<TokenId> read_;  // the tokens whose KV table_ holds
  std::optional<Sampler> sampler_;
  int64_t passes_ = 0;
  std::vector<TokenId> path_;  // scratch: committed tokens and this step's guesses
  std::vector<Candidate> best_;
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_DRAFT_MODEL_H_

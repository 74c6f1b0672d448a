// Guesses what a constraint forces: where one text only may follow (the names and punctuation of a
// JSON schema), its longest tokens are free guesses, right unless the target cuts that text into
// other tokens. Not thread safe.
#ifndef HUNCH_DRAFT_FORCED_H_
#define HUNCH_DRAFT_FORCED_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "draft/drafter.h"
#include "sampling/constraint_cursor.h"

namespace hunch {

class ForcedDrafter : public Drafter {
 public:
  // `constraint`: one of its own, before the first token.
  ForcedDrafter(std::unique_ptr<TokenConstraint> constraint, int vocab_size)
      : constraint_(std::move(constraint)), vocab_size_(vocab_size) {}

  std::string_view name() const override { return "forced"; }
  Status Start(std::span<const TokenId> prompt, const SamplingParams& params) override;
  Status Propose(std::span<const TokenId> committed, const ProposeLimits& limits,
                 DraftTree& tree) override;
  void Observe(const Observation&) override {}
  void Forget() override { cursor_.reset(); }

 private:
  std::unique_ptr<TokenConstraint> constraint_;  // until Start
  int vocab_size_;
  std::optional<ConstraintCursor> cursor_;  // from Start to Forget
  std::vector<TokenId> tokens_;             // scratch
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_FORCED_H_

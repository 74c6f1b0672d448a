// The Drafter interface: four verbs. A drafter influences the output only through the tree that it
// hands over, and the target checks every node: a wrong, slow, empty or failing one costs time,
// never text. What it proposes depends on the prefix, the noise and what it observed. One drafter
// serves one sequence at a time. Not thread safe.
#ifndef HUNCH_DRAFT_DRAFTER_H_
#define HUNCH_DRAFT_DRAFTER_H_

#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"
#include "hunch/sampling_params.h"
#include "sampling/sampler.h"
#include "seq/types.h"

namespace hunch {

struct ProposeLimits {
  int max_nodes;               // of the tree, over all branches
  int max_depth;               // tokens that could still be committed beyond the target's own one
  float min_path_probability;  // 0: no limit
};

// What became of a step.
struct Observation {
  const DraftTree& tree;               // as it was verified, of all drafters; empty: a plain step
  std::span<const int32_t> path;       // the accepted nodes, from the root down
  std::span<const TokenId> committed;  // the sequence after the step
  // The target's likeliest tokens after each row, best first: row 0 follows the last token before
  // the step, row i + 1 node i. Empty when no drafter wants them. [tree.size() + 1][top_count]
  std::span<const TokenId> top = {};
  int top_count = 0;
};

class HiddenDrafter;
class ModelDrafter;

class Drafter {
 public:
  virtual ~Drafter() = default;
  virtual std::string_view name() const = 0;
  // What the next sequence's output must obey, before its first token. For those that choose among
  // all tokens, as the target does; what others guess is looked at anyway.
  virtual void Constrain(std::unique_ptr<TokenConstraint>) {}
  // A new sequence begins. `prompt` is copied or read only during the call; `params` key the noise.
  // An error drops the drafter for this request.
  virtual Status Start(std::span<const TokenId> prompt, const SamplingParams& params) = 0;
  // Fills `tree` (cleared first) with guesses at what follows `committed`; an empty tree is an
  // answer.
  virtual Status Propose(std::span<const TokenId> committed, const ProposeLimits& limits,
                         DraftTree& tree) = 0;
  virtual void Observe(const Observation& step) = 0;
  // The sequence is over; everything that belonged to it is dropped.
  virtual void Forget() = 0;
  // How many of the target's likeliest tokens it wants to see after each row of a pass.
  virtual int top_wanted() const { return 0; }
  // Itself, where it runs a model of its own (draft_passes.h): that costs far more than looking
  // something up, and is shared with other sequences. Null: it looks things up.
  virtual ModelDrafter* model_drafter() { return nullptr; }
  // Itself, where it reads the target's hidden states (hidden_drafter.h).
  virtual HiddenDrafter* hidden_drafter() { return nullptr; }
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_DRAFTER_H_

// The Drafter interface: four verbs. A drafter influences the output only through the tree that it
// hands over, and the target checks every node: a wrong, slow, empty or failing one costs time,
// never text. One drafter serves one sequence at a time. Not thread safe.
#ifndef HUNCH_DRAFT_DRAFTER_H_
#define HUNCH_DRAFT_DRAFTER_H_

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

class Drafter {
 public:
  virtual ~Drafter() = default;
  virtual std::string_view name() const = 0;
  // A new sequence begins. `prompt` is copied or read only during the call; `params` key the noise.
  // An error drops the drafter for this request.
  virtual Status Start(std::span<const TokenId> prompt, const SamplingParams& params) = 0;
  // Fills `tree` (cleared first) with guesses at what follows `committed`; an empty tree is an
  // answer.
  virtual Status Propose(std::span<const TokenId> committed, const ProposeLimits& limits,
                         DraftTree& tree) = 0;
  // What became of the last tree: `path` are the accepted nodes. `committed` is the sequence after
  // the step.
  virtual void Observe(const DraftTree& tree, std::span<const int32_t> path,
                       std::span<const TokenId> committed) = 0;
  // The sequence is over; everything that belonged to it is dropped.
  virtual void Forget() = 0;
  // Parts of it that failed during this sequence while others went on.
  virtual int64_t part_failures() const { return 0; }
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_DRAFTER_H_

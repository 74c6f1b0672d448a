// Passes of draft models, shared by the sequences of a step. A drafter that runs a model proposes
// as a ModelDrafter: it says which rows it wants read next and goes on when it has their logits.
// DraftPasses puts what the drafters of a model want into one pass, until all have their trees. A
// single drafter's Propose is the same with a batch of one.
//
// What a drafter proposes does not depend on who takes part: the bits of a logits row depend on its
// prefix alone, and a drafter waits for all that it asked for. One that fails leaves the others
// alone.
//
// Not thread safe. A pass allocates nothing once there were as many drafters.
#ifndef HUNCH_DRAFT_DRAFT_PASSES_H_
#define HUNCH_DRAFT_DRAFT_PASSES_H_

#include <span>
#include <vector>

#include "base/result.h"
#include "draft/drafter.h"
#include "model/target.h"

namespace hunch {

// A drafter with a model of its own. A proposal: Begin, then LayRows and Take in turn, until it
// wants no more rows: the tree is complete. Begin and Forget give up what was not completed.
class ModelDrafter : public Drafter {
 public:
  ModelDrafter* model_drafter() final { return this; }
  // Passes for it alone.
  Status Propose(std::span<const TokenId> committed, const ProposeLimits& limits,
                 DraftTree& tree) final;

  virtual Target& model() = 0;
  // How many of the committed tokens its model would have to read before the first guess.
  virtual int unread(std::span<const TokenId> committed) const {
    return static_cast<int>(committed.size());
  }
  // `committed` and `tree` (cleared first) must live until the proposal is complete.
  virtual Status Begin(std::span<const TokenId> committed, const ProposeLimits& limits,
                       DraftTree& tree) = 0;
  // Rows that it waits for; 0: there is no proposal, or it is complete.
  virtual int wanted_rows() const = 0;
  // Lays out its next rows in a pass that has room for so many, and returns how many; 0: it needs
  // more room than that (never more than the model's limits). `rows` is good until Take.
  virtual Result<int> LayRows(int max_rows, int max_logit_rows, SequenceRows& rows) = 0;
  // The pass with those rows was run; `logits` are of those that asked for some.
  virtual void Take(const Logits& logits) = 0;
};

// One drafter's part.
struct DraftAsk {
  ModelDrafter* drafter = nullptr;
  std::span<const TokenId> committed;
  ProposeLimits limits;
  DraftTree* tree = nullptr;

  // What became of it. An error: the tree is empty, and the drafter is of no more use.
  Status status = Ok{};
  double own_seconds = 0;  // beside the passes
  // Of the last pass.
  int rows = 0;
  int logit_rows = 0;
};

class DraftPasses {
 public:
  // `asks`, each of another drafter, must live until Next returns false.
  void Begin(std::span<DraftAsk> asks);
  // Runs one pass of one model, for all who have a part in it; false: every ask is done.
  bool Next();

  // Of the last pass.
  double seconds() const { return seconds_; }
  int rows() const { return rows_; }

 private:
  Target* NextModel() const;
  void Gather(Target& model);
  void Lay(size_t index, ForwardLimits& left);
  void RunPass(Target& model);
  static void Fail(DraftAsk& ask, const Error& error);

  std::span<DraftAsk> asks_;
  size_t first_ = 0;  // whose turn it is to be laid first
  std::vector<SequenceRows> batch_;
  std::vector<DraftAsk*> taking_part_;  // [batch_]
  double seconds_ = 0;
  int rows_ = 0;
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_DRAFT_PASSES_H_

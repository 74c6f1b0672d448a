// Several drafters in a row: the first that has a guess gives the tree (`ngram+draft_model`: lookup
// is nearly free, the model is asked where lookup has nothing). All of them observe every step. One
// that fails is dropped for the rest of the request and the others go on. Not thread safe.
#ifndef HUNCH_DRAFT_CHAINED_H_
#define HUNCH_DRAFT_CHAINED_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "draft/drafter.h"

namespace hunch {

class ChainedDrafter : public Drafter {
 public:
  // Of one drafter, since the chain was made.
  struct Counts {
    int64_t trees = 0;     // proposals that were used
    int64_t failures = 0;  // times it was dropped
    std::string last_error;
  };

  // At least one drafter.
  explicit ChainedDrafter(std::vector<std::unique_ptr<Drafter>> drafters);

  // The parts' names joined by '+'.
  std::string_view name() const override { return name_; }
  // An error only when no drafter is left; the same holds for Propose.
  Status Start(std::span<const TokenId> prompt, const SamplingParams& params) override;
  Status Propose(std::span<const TokenId> committed, const ProposeLimits& limits,
                 DraftTree& tree) override;
  void Observe(const Observation& step) override;
  void Forget() override;
  int64_t part_failures() const override;

  int size() const { return static_cast<int>(parts_.size()); }
  const Drafter& drafter(int i) const { return *parts_[i].drafter; }
  const Counts& counts(int i) const { return parts_[i].counts; }
  bool dropped(int i) const { return parts_[i].dropped; }

 private:
  struct Part {
    std::unique_ptr<Drafter> drafter;
    bool dropped = false;  // for this request
    Counts counts;
  };
  static void Drop(Part& part, const Error& error);
  Status SomeLeft() const;

  std::string name_;
  std::vector<Part> parts_;
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_CHAINED_H_

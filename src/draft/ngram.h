// Prompt lookup: if the last n tokens occurred before, in the prompt or in the output, guess that
// what followed them then follows again. Longest n first; of several occurrences the most recent
// one (it is the likeliest to go on the same way: the text at hand is closest to what was written
// last).
//
// When the text that followed reaches the end of the sequence, reading goes on in the guesses
// themselves: a text that repeats with period 3 gets a guess of any length. Keeps positions, never
// tokens: it can only propose what stands in the sequence that it is handed. Not thread safe.
#ifndef HUNCH_DRAFT_NGRAM_H_
#define HUNCH_DRAFT_NGRAM_H_

#include <vector>

#include "draft/drafter.h"
#include "draft/ngram_index.h"

namespace hunch {

struct NgramOptions {
  // The longest and the shortest n that is looked up. A single token is too weak a hint to be worth
  // rows of the target by default; beyond 4, longer n find the same places.
  int prompt_lookup_max = 4;
  int prompt_lookup_min = 2;
};

class NgramDrafter : public Drafter {
 public:
  static constexpr int kLargestN = 64;

  // kInvalidArgument unless 1 <= min <= max <= kLargestN.
  static Status Validate(const NgramOptions& options);
  // The options must be valid.
  explicit NgramDrafter(const NgramOptions& options);

  std::string_view name() const override { return "ngram"; }
  Status Start(std::span<const TokenId> prompt, const SamplingParams& params) override;
  Status Propose(std::span<const TokenId> committed, const ProposeLimits& limits,
                 DraftTree& tree) override;
  void Observe(const Observation& step) override;
  void Forget() override;

 private:
  // Where the text that may follow begins, and how many tokens before it are those at the end; no
  // match: 0.
  struct Match {
    size_t next = 0;
    int length = 0;
  };
  void Index(std::span<const TokenId> committed);
  Match FindMatch(std::span<const TokenId> committed) const;

  std::vector<NgramIndex> indices_;  // longest n first
  size_t indexed_ =
      0;  // n-grams that end before this position are indexed (and have a token after them)
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_NGRAM_H_

// Prompt lookup: if the last n tokens occurred before, in the prompt or in the output, guess that
// what followed them then follows again. Longest n first; of several occurrences the most recent
// one first (it is the likeliest to go on the same way: the text at hand is closest to what was
// written last). What followed the best few occurrences is merged into a tree: where they agree
// they share a node, where they part they branch.
//
// When the text that followed reaches the end of the sequence, reading goes on in the guesses
// themselves: a text that repeats with period 3 gets a guess of any length. Keeps positions, never
// tokens: it can only propose what stands in the sequence that it is handed. Not thread safe.
//
// Memory: 20 to 36 bytes for each token and each n that is looked up.
#ifndef HUNCH_DRAFT_NGRAM_H_
#define HUNCH_DRAFT_NGRAM_H_

#include <cstdint>
#include <vector>

#include "draft/best_first.h"
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
  // The options must be valid. max_tokens: of prompt and output together; see reserve.h.
  explicit NgramDrafter(const NgramOptions& options, int max_tokens = 0);

  std::string_view name() const override { return "ngram"; }
  Status Start(std::span<const TokenId> prompt, const SamplingParams& params) override;
  Status Propose(std::span<const TokenId> committed, const ProposeLimits& limits,
                 DraftTree& tree) override;
  void Observe(const Observation& step) override;
  void Forget() override;

 private:
  static constexpr int kMatches = 8;  // occurrences that are merged

  // Where the text that may follow begins, and how many tokens before it are those at the end.
  struct Match {
    size_t next;
    int length;
  };
  // A node's occurrences: those that agree with the path to it, as bits over matches_.
  using Agreeing = uint32_t;
  struct Branch {
    TokenId token;
    Agreeing agreeing;
  };
  void Index(std::span<const TokenId> committed);
  void FindMatches(std::span<const TokenId> committed);
  TokenId TokenAt(size_t position, std::span<const TokenId> committed) const;
  void PushBranches(std::span<const TokenId> committed, const BestFirst<Agreeing>::Node* parent,
                    int32_t index, Agreeing agreeing);

  size_t max_tokens_;
  std::vector<NgramIndex> indices_;  // longest n first
  // n-grams that end before this position are indexed (and have a token after them)
  size_t indexed_ = 0;
  // The rest is scratch of Propose.
  std::vector<Match> matches_;  // best first
  BestFirst<Agreeing> growing_;
  std::vector<TokenId> path_;  // to the node whose branches are looked for
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_NGRAM_H_

// suffix: after SuffixDecoding (Oliaro et al., arXiv 2411.04975). Every substring of prompt and
// output, up to 64 tokens, is known with what followed it how often (suffix_index.h); the tree is
// made of the continuations that are likeliest by these counts. A long match says more than a short
// one, and one that was always followed by the same token more than one that was not: a path
// probability of that kind lets guesses grow with the match by themselves, where the paper sizes
// them by a factor of its length. And where the paper makes one tree from each length that matches
// and keeps the best, a token's probability here is blended from the longest few matches, each
// having its say on what the longer ones leave open (as in prediction by partial matching).
//
// With a store (suffix_store.h) matches in the outputs of other requests count as well, and this
// request's output is added to it when it is over. Without one nothing of a request is left after
// Forget. Not thread safe.
//
// Memory: SuffixIndex::BytesFor the tokens of prompt and output, up to twice that where it had to
// grow; with a store 4 bytes more for each token of the output.
#ifndef HUNCH_DRAFT_SUFFIX_H_
#define HUNCH_DRAFT_SUFFIX_H_

#include <memory>
#include <vector>

#include "draft/best_first.h"
#include "draft/blend.h"
#include "draft/drafter.h"
#include "draft/suffix_index.h"
#include "draft/suffix_store.h"

namespace hunch {

class SuffixDrafter : public Drafter {
 public:
  // max_tokens: of prompt and output together; see reserve.h. A null store: none.
  explicit SuffixDrafter(int max_tokens, std::shared_ptr<SuffixStore> store = nullptr);

  std::string_view name() const override { return "suffix"; }
  Status Start(std::span<const TokenId> prompt, const SamplingParams& params) override;
  Status Propose(std::span<const TokenId> committed, const ProposeLimits& limits,
                 DraftTree& tree) override;
  void Observe(const Observation& step) override;
  void Forget() override;

 private:
  struct Matches {
    SuffixIndex::Match own, shared;
  };
  void Follow(std::span<const TokenId> committed);
  void FindShared(std::span<const TokenId> committed);
  void Ask(const Matches& at);
  void PushGuesses(const BestFirst<Matches>::Node* parent, int32_t index, const Matches& at);

  size_t max_tokens_;
  std::shared_ptr<SuffixStore> store_;
  SuffixIndex own_;
  size_t followed_ = 0;          // tokens of the sequence that own_ holds
  size_t prompt_ = 0;            // of those, the prompt's
  std::vector<TokenId> output_;  // only with a store
  SuffixIndex::Match shared_;
  uint64_t shared_version_ = 0;  // of the store, when shared_ was found
  BestFirst<Matches> growing_;
  Blend blend_;  // scratch: what may follow a node
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_SUFFIX_H_

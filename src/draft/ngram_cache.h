// ngram_cache: guesses from short contexts. Two sources: what followed the last 1 to 4 tokens
// earlier in this sequence (learned while it runs, dropped with it), and what followed the last 2
// to 4 tokens in a corpus (ngram_table.h; shared by all requests, never written to). For each
// length, longest first, the sequence itself speaks first and the corpus confirms, or fills where
// the sequence has nothing to say. The corpus knows nothing of the request, so it may be shared.
// Not thread safe.
//
// Memory: SuffixIndex::BytesFor the tokens of prompt and output; up to twice that where it had to
// grow.
#ifndef HUNCH_DRAFT_NGRAM_CACHE_H_
#define HUNCH_DRAFT_NGRAM_CACHE_H_

#include <array>
#include <memory>

#include "draft/best_first.h"
#include "draft/blend.h"
#include "draft/drafter.h"
#include "draft/ngram_table.h"
#include "draft/suffix_index.h"

namespace hunch {

class NgramCacheDrafter : public Drafter {
 public:
  // max_tokens: of prompt and output together; see reserve.h. A null table: only what is learned
  // from the sequence.
  explicit NgramCacheDrafter(int max_tokens, std::shared_ptr<const NgramTable> table = nullptr);

  std::string_view name() const override { return "ngram_cache"; }
  Status Start(std::span<const TokenId> prompt, const SamplingParams& params) override;
  Status Propose(std::span<const TokenId> committed, const ProposeLimits& limits,
                 DraftTree& tree) override;
  void Observe(const Observation& step) override;
  void Forget() override;

 private:
  // The end of a path: its last tokens, and what of them the sequence knows.
  struct End {
    std::array<TokenId, NgramTable::kLongest> last;  // the newest at the back
    int size;                                        // of `last`, from the back
    SuffixIndex::Match match;
    int guesses;  // on the path
  };
  void Follow(std::span<const TokenId> committed);
  void Ask(const End& end);
  void PushGuesses(const BestFirst<End>::Node* parent, int32_t index, const End& end);

  size_t max_tokens_;
  std::shared_ptr<const NgramTable> table_;
  SuffixIndex own_;
  size_t followed_ = 0;  // tokens of the sequence that own_ holds
  BestFirst<End> growing_;
  Blend blend_;  // scratch: what may follow a node
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_NGRAM_CACHE_H_

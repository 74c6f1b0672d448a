// token_recycling (Luo et al., arXiv 2408.08696): every row of a verify pass says what the target
// thinks likely after some token, and all but the accepted path is thrown away. This drafter keeps
// it: for each context the target's best few successors, from every row of the verified tree,
// accepted or not. The next tree is grown through them, best path first.
//
// Contexts are the last two tokens, else the last one. Where the paper starts from nothing or from
// a matrix of another run, the prompt's own text is consulted too: what followed a token there,
// latest first. What each list and rank is worth was measured (token_recycling.cc).
//
// Without a shared table a request's successors are its own. A shared one carries what the target
// thought from request to request: whoever makes it decides between whom (keyed by a cache salt);
// the prompt's text never goes into it, but what the target said after it does.
//
// Memory: kRowContexts + kTextContexts contexts of 48 bytes, 1.6 MB. Not thread safe: drafters that
// share a table run on one thread.
#ifndef HUNCH_DRAFT_TOKEN_RECYCLING_H_
#define HUNCH_DRAFT_TOKEN_RECYCLING_H_

#include <memory>
#include <span>
#include <vector>

#include "draft/drafter.h"
#include "draft/successor_table.h"

namespace hunch {

class TokenRecyclingDrafter : public Drafter {
 public:
  static constexpr size_t kRowContexts = 16384;
  static constexpr size_t kTextContexts = 16384;
  static constexpr int kMostNodes = 256;  // of a tree, whatever the limits allow

  // shared: successors that outlive the request; null: it learns its own.
  explicit TokenRecyclingDrafter(std::shared_ptr<SuccessorTable> shared = nullptr);

  std::string_view name() const override { return "token_recycling"; }
  Status Start(std::span<const TokenId> prompt, const SamplingParams& params) override;
  Status Propose(std::span<const TokenId> committed, const ProposeLimits& limits,
                 DraftTree& tree) override;
  void Observe(const Observation& step) override;
  void Forget() override;
  int top_wanted() const override { return SuccessorTable::kSuccessors; }

 private:
  struct Context {
    TokenId before;  // -1: the sequence begins with `last`
    TokenId last;
  };
  struct Guess {
    TokenId token;
    float belief;
  };
  // A node that may join the tree.
  struct Candidate {
    float path;  // the product of beliefs down to it
    int32_t order;
    int32_t parent;
    int32_t depth;
    Guess guess;
  };
  static bool Worse(const Candidate& a, const Candidate& b);

  // What may follow a context, each token once: guesses_.
  void Gather(Context context);
  void GatherFrom(const SuccessorTable::Successors* successors, const float* beliefs);
  // Offers what may follow `node` (-1: the committed tokens).
  void Expand(const DraftTree& tree, int32_t node, float path, int depth,
              std::span<const TokenId> committed, const ProposeLimits& limits);
  void Learn(const Observation& step, int32_t node, std::span<const TokenId> before);

  std::shared_ptr<SuccessorTable> rows_;  // by contexts of one and of two tokens
  bool shared_;
  SuccessorTable text_;  // the same of the prompt
  // Scratch.
  std::vector<Guess> guesses_;
  std::vector<Candidate> heap_;
  int32_t offered_ = 0;
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_TOKEN_RECYCLING_H_

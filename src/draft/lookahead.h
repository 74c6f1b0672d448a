// lookahead (Fu et al., arXiv 2402.02057): the target guesses for itself. In the rows of every pass
// rides a window of W columns and N - 1 levels of guesses at the text to come, each made by the
// target from the one before in an earlier pass (Jacobi iteration); column by column it yields
// n-grams that the target once wrote, and those that begin with the last committed token are the
// guesses that this pass verifies. No model, no passes of its own.
//
// The window is a tree, so no mask but the tree's is needed. With c the last committed token, level
// 0 is c itself (column 0) and a chain of W - 1 guesses after it; column i hangs from its level-0
// token, each level the child of the one above:
//
//   c -- a1 -- a2 -- a3 -- a4         level 0; columns 0 to W - 1
//   |    |     |     |     |
//   b0   b1    b2    b3    b4         level 1
//   |    |     |     |     |
//   d0   d1    d2    d3    d4         level N - 2
//
// The target's tokens after the last level, e0 .. e4, give the n-grams (c b0 d0 e0), (a1 b1 d1 e1),
// ... for the pool and the next window: a' = b1 .. b4, b' = d, d' = e. Until the window is full,
// each pass adds a level, and level 0, which starts wider with tokens of the prompt, loses its
// first: as in the authors' implementation, and so are the pool's order (for each first token the
// latest G n-grams) and its start from the prompt. What is verified may be another tree than what
// was proposed (merged, renumbered, cut): nodes are found again by their tokens, and a column that
// is not there whole yields nothing.
//
// Memory: a pool of kPoolTokens first tokens, under 3 MiB. Not thread safe.
#ifndef HUNCH_DRAFT_LOOKAHEAD_H_
#define HUNCH_DRAFT_LOOKAHEAD_H_

#include <span>
#include <vector>

#include "draft/drafter.h"
#include "draft/ngram_pool.h"

namespace hunch {

struct LookaheadOptions {
  int window = 5;   // W: columns
  int ngram = 4;    // N: tokens of an n-gram, the first included
  int guesses = 5;  // G: n-grams verified in a pass, and kept for each first token
};

class LookaheadDrafter : public Drafter {
 public:
  // Of its trees: more rows than a pass gives logits to would be of no use.
  static constexpr int kMostNodes = 64;
  static constexpr size_t kPoolTokens = 8192;

  // kInvalidArgument unless window >= 1, ngram >= 3, guesses >= 1 and the window and the guesses
  // together are at most kMostNodes nodes.
  static Status Validate(const LookaheadOptions& options);
  // The options must be valid.
  explicit LookaheadDrafter(const LookaheadOptions& options);

  std::string_view name() const override { return "lookahead"; }
  Status Start(std::span<const TokenId> prompt, const SamplingParams& params) override;
  Status Propose(std::span<const TokenId> committed, const ProposeLimits& limits,
                 DraftTree& tree) override;
  void Observe(const Observation& step) override;
  void Forget() override;
  int top_wanted() const override { return 1; }

  // Level `level` of the window from the first column that has a guess: of level 0, that is column
  // 1. Level 0 .. levels() - 1.
  std::span<const TokenId> level(int level) const { return levels_[level]; }
  int levels() const { return filled_; }
  const NgramPool& pool() const { return pool_; }

 private:
  // What the target said after the last level of each column, from the first that is kept; -1 where
  // that is not known.
  void ReadWindow(const Observation& step);
  TokenId After(const Observation& step, int column) const;
  void KeepNgrams(TokenId last);
  void Advance(std::span<const TokenId> committed);
  // A token of the text so far: what stands where nothing better is known.
  TokenId AnyToken(std::span<const TokenId> committed);
  void LayGuess(TokenId last, int i, const ProposeLimits& limits, DraftTree& tree) const;
  void LayWindow(const ProposeLimits& limits, DraftTree& tree) const;

  LookaheadOptions options_;
  NgramPool pool_;
  std::vector<std::vector<TokenId>> levels_;  // [ngram - 1], of which `filled_` hold guesses
  int filled_ = 0;
  std::vector<TokenId> said_;   // scratch of ReadWindow, [columns]
  std::vector<TokenId> ngram_;  // scratch, [ngram - 1]
  uint64_t drawn_ = 0;          // calls of AnyToken
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_LOOKAHEAD_H_

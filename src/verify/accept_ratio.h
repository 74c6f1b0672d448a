// Acceptance rules `ratio` and `block`: a guess is accepted with a probability that makes the text
// an exact sample of the target's distribution, whatever the guesses were drawn from. Unlike
// AcceptCoupled they do not promise the same text. Proofs: docs/lossless.md.
//
// They ask this of a tree, and of whoever prunes or merges it: a node with a law was drawn from it,
// less the tokens of its siblings before it, with noise used for nothing else; and whether a node
// is in the tree depends on what was drawn before it, never on its own token, unless that repeats
// an earlier sibling's. (A node may be left out for what its parent's path is worth, or for its
// place among its siblings, but not for its own probability.)
//
// A node that cannot have been drawn from its law (no such law, or probability 0) is passed over.
// Not thread safe (scratch: two rows of doubles and one of floats, of the vocabulary); one serves
// many requests.
#ifndef HUNCH_VERIFY_ACCEPT_RATIO_H_
#define HUNCH_VERIFY_ACCEPT_RATIO_H_

#include <span>
#include <vector>

#include "hunch/sampling_params.h"
#include "sampling/ratio_noise.h"
#include "verify/accept.h"

namespace hunch {

class RatioAcceptor {
 public:
  // `noise` is the request's stream RatioNoise::kVerify. rule: kRatio, or kBlock, which verifies
  // trees that are a chain as a block and others as kRatio does. The rest as AcceptCoupled.
  void Accept(AcceptanceRule rule, const DraftTree& tree, const LogitsRows& rows,
              std::span<const TokenId> committed, Sampler& sampler, RatioNoise& noise,
              Verdict& verdict);

 private:
  // One call's arguments.
  struct Step {
    const DraftTree& tree;
    const LogitsRows& rows;
    std::span<const TokenId> committed;
    Sampler& sampler;
    RatioNoise& noise;
    Verdict& verdict;
  };

  // What the guess at hand was drawn from: a law less the tokens of earlier siblings, up to a
  // factor; or, without a law, certain.
  struct Guess {
    TokenId token = 0;
    std::span<const float> law;
    std::vector<TokenId> taken;  // ascending
    double total = 1;
    double probability() const { return law.empty() ? 1.0 : law[token] / total; }
  };

  void AcceptTree(const Step& step);
  void AcceptChain(const Step& step);
  int32_t AcceptChild(const Step& step, int32_t parent);
  bool LoadGuess(const Step& step, int32_t node);
  void LoadTarget(const Step& step, int32_t node);
  double TargetProbability(TokenId token) const;
  double Residual(double scale);
  void TakeResidual(double scale);
  TokenId DrawToken(const Step& step) const;
  static std::span<const TokenId> Prefix(const Step& step, size_t path);

  // What a token must be drawn from, given all that was rejected, up to a factor: law_ at first,
  // then rest_.
  std::vector<float> law_;    // [vocab]
  std::vector<double> rest_;  // [vocab]
  bool rejected_ = false;
  double total_ = 1;
  Guess guess_;
  std::vector<double> residual_;  // [vocab], scratch
  std::vector<double> accept_;    // of a chain: see AcceptChain
  std::vector<double> reach_;
};

}  // namespace hunch

#endif  // HUNCH_VERIFY_ACCEPT_RATIO_H_

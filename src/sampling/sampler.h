// The target's token after a prefix: a pure function of (prefix, logits row, parameters).
//
// Order (vLLM's): first of all a constraint, under which a forbidden token is as if the target had
// given it minus infinity: what is left is the raw row. Then logit bias, banned tokens and
// min_tokens; repetition, frequency and presence penalties; temperature; min-p; top-k; top-p;
// typical. Then argmax(processed / T + Gumbel noise); T = 0 is the plain argmax of the processed
// row, whatever the truncations say. Ties go to the lower id, NaN never wins, and neither does an
// id of the row's padding. If the processors leave no token at all (everything banned), the best
// token of the raw row is chosen. Logprobs are of the raw row (log-softmax of the target's logits
// before processing, as in vLLM). Each control's exact meaning: candidates.h, docs/lossless.md.
//
// A Sampler holds a request's parameters and scratch, never history: what it needs to know of the
// prefix it derives from the prefix it is handed (counts are cached for the last prefix and undone
// where another one comes; builds with HUNCH_FLIP_SPEED_ONLY do without). Not thread safe; one per
// request.
#ifndef HUNCH_SAMPLING_SAMPLER_H_
#define HUNCH_SAMPLING_SAMPLER_H_

#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "hunch/sampling_params.h"
#include "sampling/constraint_cursor.h"
#include "sampling/ratio_noise.h"
#include "seq/types.h"

namespace hunch {

// kInvalidArgument, naming the field, when a value is out of range.
Status ValidateSamplingParams(const SamplingParams& params, int vocab_size);

// A token the sampler could choose (see TopPerturbed).
struct Candidate {
  TokenId token;
  float score;        // (processed - largest processed) / T + G (T = 0: no division, no G)
  float probability;  // softmax of processed / T among what the truncations left (T = 0: of
                      // processed)
};

class Sampler {
 public:
  // A row of logits and, where the forward pass left them, the largest of every 64 (row_ops.h):
  // with them a row that no processor changes need not be read whole.
  struct Row {
    template <typename Floats>  // a span, vector or array
    Row(const Floats& row, const float* row_maxima = nullptr) : logits(row), maxima(row_maxima) {}
    std::span<const float> logits;
    const float* maxima;
  };

  // end_tokens: what min_tokens forbids (with stop_token_ids). prompt_len: where the output begins.
  // constraint: null, or the request's, which must outlive the sampler.
  Sampler(const SamplingParams& params, int vocab_size, size_t prompt_len,
          std::vector<TokenId> end_tokens, ConstraintCursor* constraint = nullptr);
  ~Sampler();

  // The token at position prefix.size(), or -1: the constraint allows none. The row has at least
  // vocab_size logits and is not changed.
  TokenChoice Choose(std::span<const TokenId> prefix, const Row& row);
  // The `count` best candidates by noisy score, best first (fewer if fewer are left): the first is
  // what Choose would choose. For drafters: their guesses on their own rows, with the target's
  // noise. Meant for a handful: each costs a place in a sorted list.
  void TopPerturbed(std::span<const TokenId> prefix, const Row& row, int count,
                    std::vector<Candidate>& out);

  // The rest is for the rules `ratio` and `block`, where chance is not keyed by position.
  //
  // law[vocab_size]: with what probability Choose would choose each token over all seeds (T = 0:
  // the one that it chooses); zero where it would choose none. A pure function: equal rows give
  // equal bits.
  void Law(std::span<const TokenId> prefix, const Row& row, std::vector<float>& law);
  // `count` different tokens drawn one after another from the law, without replacement, with noise
  // that is used once (the Gumbel top-k trick); fewer if fewer have a probability. Meant for T > 0.
  void Draw(std::span<const TokenId> prefix, const Row& row, int count, RatioNoise& noise,
            std::vector<Candidate>& out);
  // `token` (-1: none) with the logprobs that the request asked for.
  TokenChoice Describe(std::span<const TokenId> prefix, TokenId token, const Row& row);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hunch

#endif  // HUNCH_SAMPLING_SAMPLER_H_

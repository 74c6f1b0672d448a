// The likeliest tokens of a row, whatever the request's sampling parameters: what drafters that
// learn from the target look at. Pure; thread safe; allocates nothing.
#ifndef HUNCH_SAMPLING_TOP_TOKENS_H_
#define HUNCH_SAMPLING_TOP_TOKENS_H_

#include <span>

#include "sampling/sampler.h"
#include "seq/types.h"

namespace hunch {

inline constexpr int kMostTopTokens = 16;

// out[0 .. count): the tokens of the `count` largest raw logits, best first, ties to the lower id.
// NaN and -inf are never among them; where nothing is left, -1. `row.logits` ends at the
// vocabulary; the maxima of its last block may reach into padding. 0 <= count <= kMostTopTokens,
// count <= out.size(). With maxima it reads these and about `count` blocks of 64 logits; without
// them the whole row.
void TopTokens(const Sampler::Row& row, int count, std::span<TokenId> out);

}  // namespace hunch

#endif  // HUNCH_SAMPLING_TOP_TOKENS_H_

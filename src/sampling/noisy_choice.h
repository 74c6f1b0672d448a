// The best tokens of a row by z + G, G being the keyed Gumbel noise of docs/lossless.md. Which
// tokens win does not depend on how many are asked for, nor on which others were left out because
// they could not win. Not thread safe.
#ifndef HUNCH_SAMPLING_NOISY_CHOICE_H_
#define HUNCH_SAMPLING_NOISY_CHOICE_H_

#include <cstdint>

#include "sampling/candidates.h"
#include "sampling/relative_row.h"
#include "sampling/top_list.h"

namespace hunch {

// Names one row of noise.
struct NoiseKey {
  uint64_t seed;
  uint32_t choice;
  uint64_t position;
};

// `top` is reset by the caller; every token of the row that can be chosen is on offer.
void OfferNoisyRow(const RelativeRow& row, const NoiseKey& key, TopList& top);
// The same among the candidates only.
void OfferNoisyCandidates(const Candidates& candidates, const NoiseKey& key, TopList& top);

}  // namespace hunch

#endif  // HUNCH_SAMPLING_NOISY_CHOICE_H_

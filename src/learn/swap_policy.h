// When a head that was learned replaces the one in use, and when it has to go again. Pure.
#ifndef HUNCH_LEARN_SWAP_POLICY_H_
#define HUNCH_LEARN_SWAP_POLICY_H_

#include <cstdint>

#include "learn/passes_needed.h"

namespace hunch {

struct SwapPolicy {
  int64_t least_replayed = 1000;  // tokens on which two heads are compared
  double better = 1.01;           // times the other's tokens per pass: less may be chance
  int64_t least_guesses = 1000;   // in service, before and on trial
  double least_fall = 0.02;       // of the share of guesses accepted
  double surely = 3;              // standard errors
};

// Of two heads on the same texts.
bool WorthSwapping(const SwapPolicy& policy, const PassesNeeded& in_use,
                   const PassesNeeded& candidate);

// A head's guesses in service.
struct GuessCounts {
  int64_t verified = 0, accepted = 0;
  GuessCounts operator-(const GuessCounts& other) const {
    return {verified - other.verified, accepted - other.accepted};
  }
  double share() const {
    return verified == 0 ? 0 : static_cast<double>(accepted) / static_cast<double>(verified);
  }
};

enum class Trial {
  kGoesOn,  // too few guesses to tell
  kPassed,
  kFailed,  // fewer are accepted than before, and it is no chance
};
Trial JudgeTrial(const SwapPolicy& policy, const GuessCounts& before, const GuessCounts& on_trial);

// The text may have become harder to guess meanwhile, for either head: one that failed its trial
// stays if it is the better one on what was said since.
bool WorthRollingBack(const SwapPolicy& policy, const PassesNeeded& head_before,
                      const PassesNeeded& in_use);

}  // namespace hunch

#endif  // HUNCH_LEARN_SWAP_POLICY_H_

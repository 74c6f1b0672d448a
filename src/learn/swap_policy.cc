#include "learn/swap_policy.h"

#include <algorithm>
#include <cmath>

namespace hunch {

bool WorthSwapping(const SwapPolicy& policy, const PassesNeeded& in_use,
                   const PassesNeeded& candidate) {
  if (std::min(in_use.tokens, candidate.tokens) < policy.least_replayed) return false;
  return candidate.tokens_per_pass() >= policy.better * in_use.tokens_per_pass();
}

Trial JudgeTrial(const SwapPolicy& policy, const GuessCounts& before, const GuessCounts& on_trial) {
  if (on_trial.verified < policy.least_guesses) return Trial::kGoesOn;
  // Nothing to hold it against: its replays spoke for it.
  if (before.verified < policy.least_guesses) return Trial::kPassed;
  const auto variance = [](const GuessCounts& counts) {
    return counts.share() * (1 - counts.share()) / static_cast<double>(counts.verified);
  };
  const double error = std::sqrt(variance(before) + variance(on_trial));
  const double fall = before.share() - on_trial.share();
  return fall > std::max(policy.least_fall, policy.surely * error) ? Trial::kFailed
                                                                   : Trial::kPassed;
}

bool WorthRollingBack(const SwapPolicy& policy, const PassesNeeded& head_before,
                      const PassesNeeded& in_use) {
  // Without text to compare them on, what was seen in service counts.
  if (std::min(head_before.tokens, in_use.tokens) < policy.least_replayed) return true;
  return in_use.tokens_per_pass() <= head_before.tokens_per_pass();
}

}  // namespace hunch

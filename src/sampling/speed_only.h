// Branches that change speed and never tokens are marked `SPEED ONLY` and ask this constant, so
// that a test build (-DHUNCH_FLIP_SPEED_ONLY=ON) takes the other way everywhere.
#ifndef HUNCH_SAMPLING_SPEED_ONLY_H_
#define HUNCH_SAMPLING_SPEED_ONLY_H_

namespace hunch {

#ifdef HUNCH_FLIP_SPEED_ONLY
inline constexpr bool kTakeSpeedOnlyBranches = false;
#else
inline constexpr bool kTakeSpeedOnlyBranches = true;
#endif

}  // namespace hunch

#endif  // HUNCH_SAMPLING_SPEED_ONLY_H_

// Replay: what a head's guesses would have been worth on committed text, pass by pass as the engine
// would have made them, from the hidden states that were kept of it. Everything is the engine's own
// but the target, whose answer is known: so it can run beside it, on another thread. It guesses
// without noise, as at T = 0, also text that was sampled: two heads are compared on the same text.
#ifndef HUNCH_LEARN_REPLAY_H_
#define HUNCH_LEARN_REPLAY_H_

#include "base/result.h"
#include "draft/drafter.h"
#include "learn/feature_rows.h"
#include "learn/learned_text.h"
#include "learn/passes_needed.h"

namespace hunch {

inline constexpr int kReplayedGuesses = 5;  // of a step

// Adds what the passes after the prompt's gave. `drafter` reads hidden states, guesses with a head
// of this layout, whose taps have room for max_rows rows, and belongs to nobody else. A drafter
// that fails is an error.
Status Replay(const LearnedText& text, const FeatureLayout& layout, int max_rows, Drafter& drafter,
              PassesNeeded& passes);

}  // namespace hunch

#endif  // HUNCH_LEARN_REPLAY_H_

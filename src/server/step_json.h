// The extra object of a stream's chunk that says who guessed its token, and what the step did that
// gave it. Pure functions.
#ifndef HUNCH_SERVER_STEP_JSON_H_
#define HUNCH_SERVER_STEP_JSON_H_

#include "session/json_text.h"
#include "session/llm.h"

namespace hunch {

// {"guessed_by": a drafter or null}, and with the first token of a step "step": {"tokens",
// "pass_ms", "plain_ms", "guesses": [{"text", "parent", "drafter", "accepted"}, ...]}. `delta` has
// a step.
Json StepJson(const TextDelta& delta, const Tokenizer& tokenizer);

}  // namespace hunch

#endif  // HUNCH_SERVER_STEP_JSON_H_

// What `run --json` prints. Pure functions.
#ifndef HUNCH_APPS_OUTPUT_JSON_H_
#define HUNCH_APPS_OUTPUT_JSON_H_

#include "session/json_text.h"
#include "session/llm.h"

namespace hunch {

// A ratio that there is none of (no drafts, no time) is null, never NaN or a made-up number.
Json RatioJson(double numerator, double denominator);

// What drafting cost and brought, by drafter; part of SpeculationJson.
Json CostsJson(const SpeculationStats& stats);
Json SpeculationJson(const SpeculationStats& stats);
// With "logprobs" when the output has them.
Json OutputJson(const RequestOutput& output, const Tokenizer& tokenizer, double load_seconds);

// Tokens after the first per second of decoding; 0: no such rate.
double DecodeRate(const RequestOutput& output);

}  // namespace hunch

#endif  // HUNCH_APPS_OUTPUT_JSON_H_

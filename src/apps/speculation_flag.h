// --speculative-config (its JSON: session/speculation_json.h) and the methods of --methods. Pure
// functions.
#ifndef HUNCH_APPS_SPECULATION_FLAG_H_
#define HUNCH_APPS_SPECULATION_FLAG_H_

#include <string>
#include <string_view>

#include "base/result.h"
#include "session/llm.h"
#include "session/speculation_json.h"

namespace hunch {

// A method of --methods: "suffix", "ngram:4" (four guesses a step), "auto:threshold" (that policy).
struct MethodChoice {
  DraftMethod method;
  int guesses = 0;  // 0: as --speculative-config says
  bool threshold = false;
  bool operator==(const MethodChoice&) const = default;
};
Result<MethodChoice> ParseMethodChoice(std::string_view text);

// What the flag says, with this method and its setting.
SpeculativeConfig ConfigOf(const SpeculationFlag& flag, const MethodChoice& chosen);

// How tables name a configuration: "suffix+draft_model", "ngram:4" with four guesses a step.
std::string MethodLabel(const SpeculativeConfig& config);

}  // namespace hunch

#endif  // HUNCH_APPS_SPECULATION_FLAG_H_

// The value of --speculative-config: vLLM's JSON object, checked key by key. Pure functions.
#ifndef HUNCH_APPS_SPECULATION_FLAG_H_
#define HUNCH_APPS_SPECULATION_FLAG_H_

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "session/llm.h"

namespace hunch {

// A method of --methods: "suffix", "ngram:4" (four guesses a step), "auto:threshold" (that policy).
struct MethodChoice {
  DraftMethod method;
  int guesses = 0;  // 0: as --speculative-config says
  bool threshold = false;
  bool operator==(const MethodChoice&) const = default;
};
Result<MethodChoice> ParseMethodChoice(std::string_view text);

struct SpeculationFlag {
  std::optional<DraftMethod> method;  // unset: the object has no "method"
  SpeculativeConfig fields;           // its method is not meaningful

  // The whole configuration of one method.
  SpeculativeConfig For(const DraftMethod& chosen) const;
  SpeculativeConfig For(const MethodChoice& chosen) const;
};

// Unknown keys, wrong types, unknown methods and values out of range are errors that name them.
Result<SpeculationFlag> ParseSpeculationFlag(std::string_view json);

// ValidateSpeculativeConfig, and a draft model where the method needs one.
Status CheckMethod(const SpeculativeConfig& config);

// The configuration of the one method that the flag names: "method"; without it "model" means
// draft_model, as in vLLM, and nothing means auto. Checked as a whole.
Result<SpeculativeConfig> SingleMethod(const SpeculationFlag& flag);

// How tables name a configuration: "suffix+draft_model", "ngram:4" with four guesses a step.
std::string MethodLabel(const SpeculativeConfig& config);

}  // namespace hunch

#endif  // HUNCH_APPS_SPECULATION_FLAG_H_

// The value of --speculative-config: vLLM's JSON object, checked key by key. Pure functions.
#ifndef HUNCH_APPS_SPECULATION_FLAG_H_
#define HUNCH_APPS_SPECULATION_FLAG_H_

#include <optional>
#include <string_view>

#include "base/result.h"
#include "session/llm.h"

namespace hunch {

struct SpeculationFlag {
  std::optional<DraftMethod> method;  // unset: the object has no "method"
  SpeculativeConfig fields;           // its method is not meaningful

  // The whole configuration of one method.
  SpeculativeConfig For(DraftMethod chosen) const;
};

// Unknown keys, wrong types, unknown methods and values out of range are errors that name them.
Result<SpeculationFlag> ParseSpeculationFlag(std::string_view json);

// ValidateSpeculativeConfig, and a draft model where the method needs one.
Status CheckMethod(const SpeculativeConfig& config);

// The configuration of the one method that the flag names: "method"; without it "model" means
// draft_model, as in vLLM. Checked as a whole.
Result<SpeculativeConfig> SingleMethod(const SpeculationFlag& flag);

}  // namespace hunch

#endif  // HUNCH_APPS_SPECULATION_FLAG_H_

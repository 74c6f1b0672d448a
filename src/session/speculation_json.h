// A speculative configuration as JSON, key by key as vLLM's: the value of --speculative-config, and
// what /v1/speculation takes. Pure functions, but that SingleMethod may look into a file.
#ifndef HUNCH_SESSION_SPECULATION_JSON_H_
#define HUNCH_SESSION_SPECULATION_JSON_H_

#include <optional>
#include <string_view>

#include "base/result.h"
#include "session/json_text.h"
#include "session/llm.h"

namespace hunch {

struct SpeculationFlag {
  std::optional<DraftMethod> method;  // unset: the object has no "method"
  SpeculativeConfig fields;           // its method is not meaningful

  // The whole configuration of one method.
  SpeculativeConfig For(const DraftMethod& chosen) const;
};

// Unknown keys, wrong types, unknown methods and values out of range are errors that name them.
Result<SpeculationFlag> ParseSpeculationFlag(std::string_view json);

// ValidateSpeculativeConfig, and a draft model where the method needs one. Heads that are not named
// may be shipped.
Status CheckMethod(const SpeculativeConfig& config);

// The configuration of the one method that the flag names: "method"; without it "model" alone means
// draft_model, as in vLLM, or the method of the head that it is, and anything else auto. Checked as
// a whole.
Result<SpeculativeConfig> SingleMethod(const SpeculationFlag& flag);

// The same object, with every key that has a value.
Json SpeculativeConfigJson(const SpeculativeConfig& config);

}  // namespace hunch

#endif  // HUNCH_SESSION_SPECULATION_JSON_H_

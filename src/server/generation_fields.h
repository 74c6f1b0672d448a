// What chat and completion requests have in common, from JSON to types. Pure functions.
#ifndef HUNCH_SERVER_GENERATION_FIELDS_H_
#define HUNCH_SERVER_GENERATION_FIELDS_H_

#include <optional>
#include <string>

#include "hunch/sampling_params.h"
#include "server/fields.h"
#include "server/output_fields.h"
#include "session/llm.h"

namespace hunch {

// {"enabled": bool, "method": string, "num_speculative_tokens": int, "trace": bool}: what it leaves
// out is as the server was started.
struct SpeculationFields {
  std::optional<bool> enabled;
  std::optional<DraftMethod> method;
  std::optional<int> num_speculative_tokens;
  bool trace = false;  // a stream says what each step guessed

  bool any() const { return enabled || method || num_speculative_tokens; }
  SpeculativeConfig Over(const SpeculativeConfig& server) const;
};

struct GenerationFields {
  static constexpr int kMostChoices = 64;
  static constexpr int kMostTopLogprobs = 20;

  std::string model;        // "": not said
  SamplingParams sampling;  // temperature 1 unless said otherwise; max_tokens -1: not said
  std::optional<uint64_t> seed;
  int n = 1;
  bool stream = false;
  bool include_usage = false;  // in a stream
  std::string output_field;    // the one that says what sampling.structured_output is
  SpeculationFields speculation;
  std::optional<std::string> cache_salt;  // only requests with the same share what they learn

  // The same request streams the same events again.
  bool CanResume() const {
    return stream && !speculation.trace && sampling.acceptance == AcceptanceRule::kCoupled;
  }
  SpeculativeConfig SpeculationOver(const SpeculativeConfig& server) const;
};

// Reads all of them, and takes note of those that may be there and change nothing.
void ReadGenerationFields(Fields& fields, GenerationFields& out);

}  // namespace hunch

#endif  // HUNCH_SERVER_GENERATION_FIELDS_H_

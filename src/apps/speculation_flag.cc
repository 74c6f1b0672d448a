#include "apps/speculation_flag.h"

#include <fmt/format.h>

#include "apps/numbers.h"

namespace hunch {

Result<MethodChoice> ParseMethodChoice(std::string_view text) {
  MethodChoice choice;
  const size_t colon = text.find(':');
  HUNCH_ASSIGN_OR_RETURN(choice.method, ParseDraftMethod(text.substr(0, colon)));
  if (colon == std::string_view::npos) return choice;
  const std::string_view setting = text.substr(colon + 1);
  if (choice.method.none()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("'{}': none guesses nothing, so it takes no setting", text)};
  }
  choice.threshold = setting == "threshold";
  if (!choice.threshold) HUNCH_RETURN_IF_ERROR(ReadInt(setting, 1, 64, choice.guesses));
  return choice;
}

SpeculativeConfig ConfigOf(const SpeculationFlag& flag, const MethodChoice& chosen) {
  SpeculativeConfig config = flag.For(chosen.method);
  if (chosen.guesses > 0) config.num_speculative_tokens = chosen.guesses;
  if (chosen.threshold) config.policy = SpeculationPolicy::kThreshold;
  return config;
}

std::string MethodLabel(const SpeculativeConfig& config) {
  const std::string name = DraftMethodName(config.method);
  if (config.method.none()) return name;
  if (config.policy == SpeculationPolicy::kThreshold) return name + ":threshold";
  if (config.num_speculative_tokens == 0) return name;
  return fmt::format("{}:{}", name, config.num_speculative_tokens);
}

}  // namespace hunch

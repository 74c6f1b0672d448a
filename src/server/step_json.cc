#include "server/step_json.h"

#include <algorithm>

namespace hunch {
namespace {

Json GuessesJson(const StepTrace& step, const Tokenizer& tokenizer) {
  Json guesses = Json::array();
  for (const StepTrace::Guess& guess : step.guesses) {
    guesses.push_back({{"text", tokenizer.TokenBytes(guess.token)},
                       {"parent", guess.parent},
                       {"drafter", step.drafters[guess.drafter]},
                       {"accepted", false}});
  }
  for (const int32_t node : step.accepted) guesses[static_cast<size_t>(node)]["accepted"] = true;
  return guesses;
}

}  // namespace

Json StepJson(const TextDelta& delta, const Tokenizer& tokenizer) {
  const StepTrace& step = *delta.step;
  Json json = {{"guessed_by", nullptr}};
  const auto place = static_cast<size_t>(delta.place);
  if (place < step.accepted.size()) {
    json["guessed_by"] = step.drafters[step.guesses[step.accepted[place]].drafter];
  }
  if (place > 0) return json;
  json["step"] = {{"tokens", step.tokens},
                  {"pass_ms", step.pass_seconds * 1e3},
                  {"plain_ms", step.plain_seconds * 1e3},
                  {"guesses", GuessesJson(step, tokenizer)}};
  return json;
}

}  // namespace hunch

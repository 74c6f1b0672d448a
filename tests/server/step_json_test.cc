#include "server/step_json.h"

#include <gtest/gtest.h>

#include "support/fake_llm.h"

namespace hunch {
namespace {

// Two guesses after one another and a sibling of the first; the chain is accepted.
TextDelta DeltaAt(int place) {
  auto step = std::make_shared<StepTrace>();
  step->drafters = {"ngram", "suffix"};
  step->guesses = {{'a', -1, 1}, {'x', -1, 0}, {'b', 0, 1}};
  step->accepted = {0, 2};
  step->tokens = 3;
  step->pass_seconds = 0.25;
  step->plain_seconds = 0.5;
  return {.text = "a", .guessed = true, .step = std::move(step), .place = place};
}

TEST(StepJson, TheFirstTokenOfAStepBringsItsTree) {
  EXPECT_EQ(StepJson(DeltaAt(0), ByteTokenizer()), Json::parse(R"({
    "guessed_by": "suffix",
    "step": {"tokens": 3, "pass_ms": 250.0, "plain_ms": 500.0, "guesses": [
      {"text": "a", "parent": -1, "drafter": "suffix", "accepted": true},
      {"text": "x", "parent": -1, "drafter": "ngram", "accepted": false},
      {"text": "b", "parent": 0, "drafter": "suffix", "accepted": true}]}})"));
}

TEST(StepJson, LaterTokensSayWhoGuessedThem) {
  EXPECT_EQ(StepJson(DeltaAt(1), ByteTokenizer()), Json::parse(R"({"guessed_by": "suffix"})"));
}

TEST(StepJson, TheTargetsOwnTokenWasGuessedByNobody) {
  EXPECT_EQ(StepJson(DeltaAt(2), ByteTokenizer()), Json::parse(R"({"guessed_by": null})"));
}

}  // namespace
}  // namespace hunch

// The text side of one running request: decodes committed tokens, watches for stop strings, hands
// certain text to the caller, and answers the engine's commit filter.
#ifndef HUNCH_SESSION_TEXT_SIDE_H_
#define HUNCH_SESSION_TEXT_SIDE_H_

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "session/llm.h"
#include "session/stop_matcher.h"

namespace hunch {

class TextSide {
 public:
  using Clock = std::chrono::steady_clock;

  TextSide(const Tokenizer& tokenizer, const SamplingParams& params, const OnText& on_text);
  // Asked by the engine before each commit.
  FilterAnswer OnToken(const CommittedToken& token);
  // Told by the engine what the step did whose tokens come next. For requests with trace_steps.
  void OnStep(const StepView& view);
  // Told by the engine, before the first token. For requests with prompt_logprobs.
  void OnPrompt(std::vector<TokenChoice> choices) {
    prompt_ = untold_prompt_ = std::make_shared<const std::vector<TokenChoice>>(std::move(choices));
  }
  // False: the caller wants no more. For steps that give no token (a long prompt).
  bool StillWanted() const { return !on_text_ || on_text_({"", false}); }
  // The output is over: flushes what was held back. Fills text, tokens, logprobs and timings.
  void Finish(RequestOutput& output);

 private:
  const Tokenizer& tokenizer_;
  const SamplingParams& params_;
  const OnText& on_text_;
  StreamDecoder decoder_;
  StopMatcher matcher_;
  std::vector<TokenId> tokens_;
  std::vector<TokenChoice> logprobs_;
  std::vector<bool> guessed_;
  PromptChoices prompt_;
  PromptChoices untold_prompt_;  // until a delta has it
  bool stopped_ = false;
  std::shared_ptr<const StepTrace> step_;
  int place_ = 0;  // in step_, of the next token
  Clock::time_point start_ = Clock::now(), first_, last_;
};

}  // namespace hunch

#endif  // HUNCH_SESSION_TEXT_SIDE_H_

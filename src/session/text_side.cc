#include "session/text_side.h"

namespace hunch {

TextSide::TextSide(const Tokenizer& tokenizer, const SamplingParams& params, const OnText& on_text)
    : tokenizer_(tokenizer),
      params_(params),
      on_text_(on_text),
      matcher_(params.stop),
      first_(start_),
      last_(start_) {}

FilterAnswer TextSide::OnToken(const CommittedToken& token) {
  last_ = Clock::now();
  if (tokens_.empty()) first_ = last_;
  const TokenId id = token.choice.token;
  const bool is_text = !token.ends_turn && !tokenizer_.IsSpecial(id);
  if (is_text) {
    const bool check = static_cast<int>(tokens_.size()) + 1 >= params_.min_tokens;
    stopped_ = matcher_.Push(decoder_.Push(tokenizer_.TokenBytes(id)), check);
  }
  tokens_.push_back(id);
  guessed_.push_back(token.guessed);
  if (params_.logprobs >= 0) logprobs_.push_back(token.choice);
  TextDelta delta = {matcher_.TakeShowable(), token.guessed};
  if (is_text && params_.logprobs >= 0) delta.choice = token.choice;
  delta.step = step_;
  delta.place = place_++;
  delta.prompt_logprobs = std::exchange(untold_prompt_, nullptr);
  if (on_text_ && !on_text_(delta)) return FilterAnswer::kCancel;
  return stopped_ ? FilterAnswer::kStop : FilterAnswer::kGoOn;
}

void TextSide::OnStep(const StepView& view) {
  auto step = std::make_shared<StepTrace>();
  for (const DrafterStats& drafter : view.drafters) step->drafters.push_back(drafter.name);
  const DraftTree& tree = view.guesses;
  for (int node = 0; node < tree.size(); ++node) {
    step->guesses.push_back({tree.tokens[node], tree.parents[node], tree.sources[node]});
  }
  step->accepted.assign(view.accepted.begin(), view.accepted.end());
  step->tokens = view.tokens;
  step->pass_seconds = view.pass_seconds;
  step->plain_seconds = view.plain_seconds;
  step_ = std::move(step);
  place_ = 0;
}

void TextSide::Finish(RequestOutput& output) {
  if (!stopped_) matcher_.Push(decoder_.Flush(), /*check=*/false);
  TextDelta rest = {matcher_.TakeRest(), false};
  rest.prompt_logprobs = std::exchange(untold_prompt_, nullptr);
  if (on_text_ && (!rest.text.empty() || rest.prompt_logprobs)) on_text_(rest);
  const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  output.text = matcher_.text();
  output.token_ids = std::move(tokens_);
  output.logprobs = std::move(logprobs_);
  output.prompt_logprobs = std::move(prompt_);
  output.guessed = std::move(guessed_);
  output.timings.prefill = seconds(first_ - start_);
  output.timings.decode = seconds(last_ - first_);
}

}  // namespace hunch

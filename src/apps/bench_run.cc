#include "apps/bench_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/generate.h"

namespace hunch {

Result<EncodedPrompts> EncodePrompts(const Llm& llm, const Flags& flags, int max_tokens,
                                     std::vector<BenchPrompt> prompts) {
  EncodedPrompts encoded;
  for (BenchPrompt& prompt : prompts) {
    auto tokens = EncodePrompt(llm, flags, prompt.text);
    if (!tokens.ok()) {
      return Error{tokens.error().code,
                   fmt::format("prompt {}: {}", prompt.id, tokens.error().message)};
    }
    const auto room = static_cast<int64_t>(std::max(max_tokens, 1));
    if (static_cast<int64_t>(tokens->size()) + room > llm.max_model_len()) {
      encoded.skipped.push_back(std::move(prompt));
    } else {
      encoded.prompts.push_back({std::move(prompt), std::move(tokens).value()});
    }
  }
  if (encoded.prompts.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("no prompt leaves room for {} tokens in a context of {}", max_tokens,
                             llm.max_model_len())};
  }
  return encoded;
}

std::string SkippedLine(size_t skipped, size_t kept, int max_model_len) {
  return fmt::format("skipping {} of {} prompts: too long for a context of {}\n", skipped,
                     skipped + kept, max_model_len);
}

Result<TimedAnswer> TimeAnswer(Llm& llm, std::span<const TokenId> prompt,
                               const SamplingParams& params, const SpeculativeConfig& config,
                               const OnText& on_text, const Context& context) {
  const double begin = context.clock();
  TimedAnswer answer;
  HUNCH_ASSIGN_OR_RETURN(answer.output, llm.Generate(prompt, params, config, on_text));
  const double wall = context.clock() - begin;
  const RequestOutput& output = answer.output;
  answer.sample = {wall, output.timings.prefill, output.timings.decode,
                   static_cast<int64_t>(output.token_ids.size()), output.speculation};
  return answer;
}

}  // namespace hunch

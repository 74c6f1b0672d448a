// hunch demo: the same answer plainly and with speculation, and one closing line. `make run` calls
// it.
#include <fmt/format.h>

#include <chrono>

#include "apps/bench_stats.h"
#include "apps/commands.h"
#include "apps/generate.h"
#include "apps/output_json.h"

namespace hunch {
namespace {

constexpr int kDemoMaxTokens = 128;

// An answer that repeats the prompt: what prompt lookup is made for, and what a model of 135
// million parameters can do (asked to correct or reorder a text, it loses half of it).
constexpr std::string_view kBuiltInPrompt =
    "Repeat this list word for word.\n\n"
    "1. Mercury is the planet closest to the Sun.\n"
    "2. Venus is the hottest planet in the solar system.\n"
    "3. Earth is the only planet known to have life.\n"
    "4. Mars is called the Red Planet.\n"
    "5. Jupiter is the largest planet in the solar system.\n"
    "6. Saturn is famous for its rings.\n"
    "7. Uranus rotates on its side.\n"
    "8. Neptune is the planet farthest from the Sun.\n";

struct DemoAnswer {
  RequestOutput output;
  double wall_seconds = 0;
};

Result<DemoAnswer> Answer(Llm& llm, std::span<const TokenId> tokens, const SamplingParams& params,
                          const SpeculativeConfig& speculation, Context& context) {
  const bool speculates = !speculation.method.none();
  context.console.out << (speculates ? fmt::format("--- with speculation: {} ---\n",
                                                   DraftMethodName(speculation.method))
                                     : "--- plain decoding ---\n")
                      << std::flush;
  AnswerPrinter printer(context, true, speculates && context.console.out_tty);
  const auto begin = std::chrono::steady_clock::now();
  DemoAnswer answer;
  HUNCH_ASSIGN_OR_RETURN(answer.output,
                         llm.Generate(tokens, params, speculation, printer.Callback()));
  answer.wall_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  printer.EndLine();
  context.console.out << '\n';
  return answer;
}

std::string ClosingLine(const DemoAnswer& plain, const DemoAnswer& guessed, bool identical) {
  return fmt::format(
      "{} tokens, {:.1f} tokens/s ({:.1f} plain), accepted guesses: {} of {}, {:.2f} x the speed "
      "of "
      "plain decoding, identical output: {}\n",
      guessed.output.token_ids.size(), DecodeRate(guessed.output), DecodeRate(plain.output),
      guessed.output.speculation.accepted_tokens, guessed.output.speculation.draft_tokens,
      guessed.wall_seconds > 0 ? plain.wall_seconds / guessed.wall_seconds : 0,
      identical ? "yes" : "NO");
}

}  // namespace

Result<int> DemoCommand(const Flags& flags, Context& context) {
  HUNCH_ASSIGN_OR_RETURN(const auto speculation, SpeculationOf(flags));
  std::string prompt = context.demo_prompt;
  if (!flags.words.empty()) prompt = flags.words[0];
  if (prompt.empty()) prompt = kBuiltInPrompt;

  HUNCH_ASSIGN_OR_RETURN(auto llm, LoadModelFor(flags, speculation, context));
  HUNCH_ASSIGN_OR_RETURN(const auto tokens, EncodePrompt(*llm, flags, prompt));
  context.interrupts.Arm();
  const SamplingParams params = flags.Sampling(kDemoMaxTokens);
  // Cold pages would count against whichever comes first.
  SamplingParams warm_up = params;
  warm_up.max_tokens = 4;
  HUNCH_RETURN_IF_ERROR(llm->Generate(
      tokens, warm_up, {}, [&](const TextDelta&) { return context.interrupts.Pending() == 0; }));

  context.console.out << prompt << (prompt.ends_with('\n') ? "\n" : "\n\n");
  HUNCH_ASSIGN_OR_RETURN(const DemoAnswer plain, Answer(*llm, tokens, params, {}, context));
  if (const int code = InterruptedExit(context); code != kExitOk) return code;
  HUNCH_ASSIGN_OR_RETURN(const DemoAnswer guessed,
                         Answer(*llm, tokens, params, speculation, context));
  if (const int code = InterruptedExit(context); code != kExitOk) return code;
  if (!context.console.out) return kExitOk;

  const auto difference = CompareOutputs(plain.output, guessed.output);
  context.console.out << ClosingLine(plain, guessed, !difference);
  return difference ? kExitDifferent : kExitOk;
}

}  // namespace hunch

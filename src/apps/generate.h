// What run, bench and demo share: loading as the flags say, encoding a prompt, and printing an
// answer as it comes. Not thread safe.
#ifndef HUNCH_APPS_GENERATE_H_
#define HUNCH_APPS_GENERATE_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "apps/context.h"
#include "apps/flags.h"
#include "session/json_text.h"

namespace hunch {

// What the flags of group "Model" say.
LlmOptions ModelOptions(const Flags& flags);

// What --speculative-config says; `auto` when it was not given.
Result<SpeculativeConfig> SpeculationOf(const Flags& flags);

// The model, and the draft model and the head that requests with these configurations use. Checks
// HUNCH_ISA first.
Result<std::unique_ptr<Llm>> LoadModelFor(const Flags& flags,
                                          std::span<const SpeculativeConfig> speculations,
                                          const Context& context);
Result<std::unique_ptr<Llm>> LoadModelFor(const Flags& flags, const SpeculativeConfig& speculation,
                                          const Context& context);

// [{"role": "system", ...}] or [].
Json StartOfChat(const Flags& flags);
// By the chat template after --system, or as it is with --raw.
Result<std::vector<TokenId>> EncodePrompt(const Llm& llm, const Flags& flags,
                                          const std::string& prompt);

// Prints an answer as it comes; stops it when somebody interrupts or nobody reads.
class AnswerPrinter {
 public:
  AnswerPrinter(Context& context, bool print, bool colour)
      : context_(context), print_(print), colour_(colour) {}
  OnText Callback();
  // A newline if the answer did not end with one.
  void EndLine();

 private:
  bool OnDelta(const TextDelta& delta);

  Context& context_;
  const bool print_, colour_;
  bool at_line_start_ = true;
};

// 0, or 128 + the number of the signal that came.
int InterruptedExit(const Context& context);

}  // namespace hunch

#endif  // HUNCH_APPS_GENERATE_H_

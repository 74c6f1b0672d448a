#include "apps/generate.h"

#include <fmt/format.h>

#include "base/isa.h"

namespace hunch {
namespace {

constexpr std::string_view kGuessedOn = "\x1b[4;32m";  // underlined: readable without colours too
constexpr std::string_view kGuessedOff = "\x1b[0m";

}  // namespace

LlmOptions ModelOptions(const Flags& flags) {
  LlmOptions options;
  options.model = flags.model;
  options.threads = flags.threads;
  options.max_num_seqs = flags.max_num_seqs;
  options.max_num_batched_tokens = flags.max_num_batched_tokens;
  options.max_model_len = flags.max_model_len;
  options.kv_cache_dtype = flags.kv_cache_dtype;
  options.enable_prefix_caching = flags.enable_prefix_caching;
  options.pass_times = flags.pass_times;
  options.heads = flags.heads;
  options.learn = !flags.learn.empty();
  return options;
}

Result<SpeculativeConfig> SpeculationOf(const Flags& flags) {
  auto config = SingleMethod(flags.speculation);
  if (config.ok()) return config;
  return Error{config.error().code,
               fmt::format("--speculative-config: {}", config.error().message)};
}

Result<std::unique_ptr<Llm>> LoadModelFor(const Flags& flags,
                                          std::span<const SpeculativeConfig> speculations,
                                          const Context& context) {
  HUNCH_RETURN_IF_ERROR(ChooseIsa());
  LlmOptions options = ModelOptions(flags);
  NameDrafts(speculations, options);
  return context.load(options);
}

Result<std::unique_ptr<Llm>> LoadModelFor(const Flags& flags, const SpeculativeConfig& speculation,
                                          const Context& context) {
  return LoadModelFor(flags, {&speculation, 1}, context);
}

Json StartOfChat(const Flags& flags) {
  Json messages = Json::array();
  if (!flags.system.empty()) {
    messages.push_back({{"role", "system"}, {"content", flags.system}});
  }
  return messages;
}

Result<std::vector<TokenId>> EncodePrompt(const Llm& llm, const Flags& flags,
                                          const std::string& prompt) {
  if (flags.raw) return llm.EncodeRaw(prompt);
  Json messages = StartOfChat(flags);
  messages.push_back({{"role", "user"}, {"content", prompt}});
  return llm.EncodeChat(messages);
}

OnText AnswerPrinter::Callback() {
  return [this](const TextDelta& delta) { return OnDelta(delta); };
}

bool AnswerPrinter::OnDelta(const TextDelta& delta) {
  std::ostream& out = context_.console.out;
  if (print_ && !delta.text.empty()) {
    const bool coloured = colour_ && delta.guessed;
    if (coloured) out << kGuessedOn;
    out << delta.text;
    if (coloured) out << kGuessedOff;
    out << std::flush;
    at_line_start_ = delta.text.back() == '\n';
  }
  return out.good() && context_.interrupts.Pending() == 0;
}

void AnswerPrinter::EndLine() {
  if (print_ && !at_line_start_) context_.console.out << '\n' << std::flush;
  at_line_start_ = true;
}

int InterruptedExit(const Context& context) {
  const int signal = context.interrupts.Pending();
  return signal == 0 ? kExitOk : 128 + signal;
}

}  // namespace hunch

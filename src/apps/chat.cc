// hunch run without a prompt: a chat of many turns on a terminal.
#include <fmt/format.h>

#include <algorithm>

#include "apps/commands.h"
#include "apps/generate.h"
#include "apps/stats_line.h"
#include "base/one_line.h"

namespace hunch {
namespace {

// A mistyped command is no question; a path, or a sentence that begins with one, may be.
bool IsCommandLike(const std::string& line) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return line.size() > 1 && line[0] == '/' && std::all_of(line.begin() + 1, line.end(), is_letter);
}

constexpr std::string_view kSpeculationCommand = "/speculation ";
constexpr std::string_view kSpeculationHelp =
    "/speculation JSON guesses another way (as --speculative-config)";

// Blanks after a command, or alone, are no words to the model.
std::string WithoutFinalBlanks(std::string line) {
  line.erase(line.find_last_not_of(" \t\r") + 1);
  return line;
}

class Chat {
 public:
  Chat(const Flags& flags, const SpeculativeConfig& speculation, Llm& llm, Context& context)
      : flags_(flags), speculation_(speculation), llm_(llm), context_(context) {}

  int Loop() {
    Console& console = context_.console;
    messages_ = StartOfChat(flags_);
    std::string line;
    while (console.out << "> " << std::flush) {
      if (!std::getline(console.in, line) || context_.interrupts.Pending() != 0) break;
      const std::string command = WithoutFinalBlanks(line);
      if (command == "/exit") return kExitOk;
      if (command == "/clear") messages_ = StartOfChat(flags_);
      if (command.empty() || command == "/clear") continue;
      if (command.starts_with(kSpeculationCommand)) {
        Speculate(command.substr(kSpeculationCommand.size()));
        continue;
      }
      if (command + ' ' == kSpeculationCommand) {
        console.err << "guessing with " << MethodLabel(speculation_) << "; " << kSpeculationHelp
                    << std::endl;
        continue;
      }
      if (IsCommandLike(command)) {
        console.err << "no such command; /clear forgets, /exit leaves, " << kSpeculationHelp
                    << std::endl;
        continue;
      }
      const Status status = Answer(line);
      if (!status.ok()) {
        console.err << OneLine("hunch run: " + status.error().message) << std::endl;
      }
    }
    console.out << '\n';
    // Leaving by Ctrl-C at the prompt is the way out of a chat, not a failure.
    return kExitOk;
  }

 private:
  // Between two answers: another method, or another draft model, which is loaded and checked first.
  void Speculate(const std::string& json) {
    const Status status = [&]() -> Status {
      HUNCH_ASSIGN_OR_RETURN(const SpeculationFlag flag, ParseSpeculationFlag(json));
      HUNCH_ASSIGN_OR_RETURN(SpeculativeConfig config, SingleMethod(flag));
      HUNCH_RETURN_IF_ERROR(llm_.SwapSpeculation(config));
      speculation_ = std::move(config);
      return Ok{};
    }();
    context_.console.err << (status.ok() ? "guessing with " + MethodLabel(speculation_)
                                         : OneLine("nothing changed: " + status.error().message))
                         << std::endl;
  }

  // A turn that fails, or is interrupted before its first word, leaves the chat as it was.
  Status Answer(const std::string& question) {
    Json messages = messages_;
    messages.push_back({{"role", "user"}, {"content", question}});
    HUNCH_ASSIGN_OR_RETURN(const auto tokens, llm_.EncodeChat(messages));
    AnswerPrinter printer(context_, true, flags_.show_speculation);
    auto output = llm_.Generate(tokens, flags_.Sampling(-1), speculation_, printer.Callback());
    printer.EndLine();
    // Ctrl-C ended this answer; what there is of it stays in the chat.
    context_.interrupts.Clear();
    if (!output.ok()) return output.error();
    if (output->finish_reason == FinishReason::kCancelled && output->text.empty()) return Ok{};
    messages.push_back({{"role", "assistant"}, {"content", output->text}});
    messages_ = std::move(messages);
    if (flags_.show_speculation) context_.console.err << StatsLine(*output) << std::endl;
    return Ok{};
  }

  const Flags& flags_;
  SpeculativeConfig speculation_;
  Llm& llm_;
  Context& context_;
  Json messages_;
};

}  // namespace

Result<int> ChatCommand(const Flags& flags, Context& context) {
  if (flags.json || flags.raw) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("no prompt; {} needs one, as an argument, by --file or on standard "
                             "input",
                             flags.json ? "--json" : "--raw")};
  }
  HUNCH_ASSIGN_OR_RETURN(const auto speculation, SpeculationOf(flags));
  Flags model = flags;
  model.enable_prefix_caching = true;  // a turn begins with all the turns before it
  HUNCH_ASSIGN_OR_RETURN(auto llm, LoadModelFor(model, speculation, context));
  if (!llm->has_chat_template()) return llm->EncodeChat(StartOfChat(flags)).error();
  context.console.err << "Chat with " << flags.model << "; /clear forgets, /exit leaves.\n";
  context.interrupts.Arm();
  return Chat(flags, speculation, *llm, context).Loop();
}

}  // namespace hunch

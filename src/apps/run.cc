// hunch run: one answer, by the public API (include/hunch). Without a prompt it is a chat
// (chat.cc).
#include <memory>
#include <utility>

#include "apps/commands.h"
#include "apps/generate.h"
#include "apps/output_json.h"
#include "apps/read_text.h"
#include "apps/stats_line.h"
#include "session/api_llm.h"

namespace hunch {
namespace {

// What a shell appends is not part of the prompt.
std::string WithoutFinalNewline(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

Result<std::string> ReadPrompt(const Flags& flags, const Console& console) {
  if (!flags.words.empty()) return flags.words[0];
  const bool from_file = flags.file && *flags.file != "-";
  HUNCH_ASSIGN_OR_RETURN(std::string text,
                         from_file ? ReadTextFile(*flags.file) : ReadText(console.in));
  return WithoutFinalNewline(std::move(text));
}

api::Result<api::RequestOutput> Answer(api::LLM& llm, const Flags& flags, const std::string& prompt,
                                       const api::OnText& on_text) {
  const SamplingParams params = flags.Sampling(-1);
  if (flags.raw) {
    auto outputs = llm.Generate({prompt}, params, on_text);
    if (!outputs.ok()) return outputs.error();
    return std::move(outputs->front());
  }
  api::Conversation messages;
  if (!flags.system.empty()) messages.push_back({"system", flags.system});
  messages.push_back({"user", prompt});
  return llm.Chat(messages, params, on_text);
}

// What the answer must look like, out of the file that says it.
Status ReadStructuredOutput(Flags& flags) {
  const bool schema = !flags.json_schema_file.empty();
  if (!schema && flags.grammar_file.empty()) return Ok{};
  if (schema && !flags.grammar_file.empty()) {
    return Error{ErrorCode::kInvalidArgument, "give --json-schema or --grammar, not both"};
  }
  StructuredOutput wanted;
  wanted.kind = schema ? StructuredOutput::Kind::kJsonSchema : StructuredOutput::Kind::kGrammar;
  HUNCH_ASSIGN_OR_RETURN(wanted.text,
                         ReadTextFile(schema ? flags.json_schema_file : flags.grammar_file));
  flags.sampling.structured_output = std::make_shared<const StructuredOutput>(std::move(wanted));
  return Ok{};
}

}  // namespace

Result<int> RunCommand(const Flags& given, Context& context) {
  Flags flags = given;
  HUNCH_RETURN_IF_ERROR(ReadStructuredOutput(flags));
  if (!flags.words.empty() && flags.file) {
    return Error{ErrorCode::kInvalidArgument, "give a prompt or --file, not both"};
  }
  if (flags.words.empty() && !flags.file && context.console.in_tty) {
    return ChatCommand(flags, context);
  }
  HUNCH_ASSIGN_OR_RETURN(const std::string prompt, ReadPrompt(flags, context.console));
  if (prompt.empty())
    return Error{
        ErrorCode::kInvalidArgument,
        "no prompt, or an empty one; give it as an argument, by --file or on standard input"};

  HUNCH_ASSIGN_OR_RETURN(const auto speculation, SpeculationOf(flags));
  HUNCH_ASSIGN_OR_RETURN(auto loaded, LoadModelFor(flags, speculation, context));
  const Llm& model = *loaded;
  api::LLM llm = api::Wrap(std::move(loaded), speculation, 1);
  context.interrupts.Arm();
  AnswerPrinter printer(context, !flags.json, flags.show_speculation);
  const auto answer =
      Answer(llm, flags, prompt, [print = printer.Callback()](const api::TextDelta& delta) {
        return print({std::string(delta.text), delta.guessed});
      });
  if (!answer.ok()) return api::InnerError(answer.error());
  const RequestOutput& output = answer->details->output;
  printer.EndLine();
  if (flags.json) {
    context.console.out << DumpJson(OutputJson(output, model.tokenizer(), model.load_seconds()))
                        << '\n';
  }
  if (flags.show_speculation) context.console.err << StatsLine(output) << '\n';
  return InterruptedExit(context);
}

}  // namespace hunch

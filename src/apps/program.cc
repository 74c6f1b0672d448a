#include <fmt/format.h>

#include <filesystem>
#include <new>
#include <system_error>
#include <vector>

#include "apps/commands.h"
#include "apps/profile.h"
#include "base/one_line.h"

namespace hunch {
namespace {

Result<int> Call(Subcommand subcommand, const Flags& flags, Context& context) {
  switch (subcommand) {
    case Subcommand::kRun:
      return RunCommand(flags, context);
    case Subcommand::kServe:
      return ServeCommand(flags, context);
    case Subcommand::kBatch:
      return BatchCommand(flags, context);
    case Subcommand::kBench:
      return BenchCommand(flags, context);
    case Subcommand::kBenchRows:
      return BenchRowsCommand(flags, context);
    case Subcommand::kTune:
      return TuneCommand(flags, context);
    case Subcommand::kTrain:
      return TrainCommand(flags, context);
    case Subcommand::kConvertHead:
      return ConvertHeadCommand(flags, context);
    case Subcommand::kTokenize:
      return TokenizeCommand(flags, context);
    case Subcommand::kNgramBuild:
      return NgramBuildCommand(flags, context);
    case Subcommand::kVocabCount:
      return VocabCountCommand(flags, context);
    case Subcommand::kDetokenize:
      return DetokenizeCommand(flags, context);
    case Subcommand::kInspect:
      return InspectCommand(flags, context);
    case Subcommand::kDemo:
      return DemoCommand(flags, context);
  }
  return kExitUsage;
}

Result<int> Dispatch(Subcommand subcommand, const Flags& flags, Context& context) {
  try {
    return Call(subcommand, flags, context);
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kResourceExhausted, "out of memory"};
  }
}

// "; there is ..." for the first word of subcommands that have two.
std::string SecondWords(std::string_view first) {
  std::string names;
  for (int i = 0; i < kSubcommands; ++i) {
    const std::string_view name = SubcommandName(static_cast<Subcommand>(i));
    if (name.starts_with(fmt::format("{} ", first))) names += fmt::format("; there is '{}'", name);
  }
  return names;
}

// What is written must be none of what is read, by whatever name. But training may replace the head
// that it goes on from (--from): it writes none that is worse.
Status CheckOutputs(const Flags& flags) {
  std::vector<std::string> read = {flags.model,
                                   flags.draft,
                                   flags.head,
                                   flags.file.value_or(""),
                                   flags.speculation.fields.model,
                                   flags.speculation.fields.head};
  for (const auto* more : {&flags.drafts, &flags.prompt_files, &flags.words}) {
    read.insert(read.end(), more->begin(), more->end());
  }
  for (const std::string& to :
       {flags.out_file, flags.report_file, flags.json_file, flags.svg_file}) {
    for (const std::string& from : read) {
      std::error_code missing;
      if (std::filesystem::equivalent(to, from, missing) && std::filesystem::is_regular_file(to)) {
        return Error{
            ErrorCode::kInvalidArgument,
            fmt::format("{} is to be written, but it is read as {}: name another file", to, from)};
      }
    }
  }
  return Ok{};
}

int RunSubcommand(Subcommand subcommand, std::span<const std::string> arguments, Context& context) {
  const auto fail = [&](const Error& error) {
    context.console.err << OneLine(fmt::format("hunch {}: {}", SubcommandName(subcommand),
                                               error.message))
                        << '\n';
    return ExitCodeOf(error);
  };
  Result<Flags> flags = ParseFlags(subcommand, arguments);
  if (!flags.ok()) return fail(flags.error());
  if (flags.value().help) {
    context.console.out << SubcommandHelp(subcommand);
    return kExitOk;
  }
  if (const Status apart = CheckOutputs(*flags); !apart.ok()) return fail(apart.error());
  if (flags->heads.empty()) flags->heads = context.heads;
  if (!flags->profile.empty()) {
    if (const Status used = UseProfile(*flags, context); !used.ok()) return fail(used.error());
  }
  const Result<int> code = Dispatch(subcommand, *flags, context);
  return code.ok() ? *code : fail(code.error());
}

}  // namespace

int ExitCodeOf(const Error& error) {
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotFound:
    case ErrorCode::kBadFile:
    case ErrorCode::kUnsupported:
      return kExitUsage;
    case ErrorCode::kResourceExhausted:
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      return kExitFailure;
  }
  return kExitFailure;
}

int RunProgram(std::span<const std::string> arguments, Context& context) {
  Console& console = context.console;
  if (arguments.empty()) {
    console.err << "hunch: no subcommand; see hunch --help\n";
    return kExitUsage;
  }
  const std::string& first = arguments[0];
  if (first == "--help" || first == "-h" || first == "help") {
    console.out << ProgramHelp();
    return kExitOk;
  }
  if (first == "--version") {
    console.out << "hunch " << kVersion << '\n';
    return kExitOk;
  }
  if (arguments.size() > 1) {
    if (const auto two_words = FindSubcommand(first + ' ' + arguments[1])) {
      return RunSubcommand(*two_words, arguments.subspan(2), context);
    }
  }
  const std::optional<Subcommand> subcommand = FindSubcommand(first);
  if (!subcommand) {
    console.err << OneLine(fmt::format("hunch: unknown {} '{}'{}; see hunch --help",
                                       first.starts_with('-') ? "flag" : "subcommand", first,
                                       SecondWords(first)))
                << '\n';
    return kExitUsage;
  }
  return RunSubcommand(*subcommand, arguments.subspan(1), context);
}

}  // namespace hunch

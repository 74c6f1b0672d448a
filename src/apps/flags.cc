#include "apps/flags.h"

#include <fmt/format.h>

#include <algorithm>

namespace hunch {
namespace {

// How many words a subcommand takes, and what they are.
struct Words {
  size_t most;
  std::string_view excess;  // what to do about one too many
};

constexpr size_t kAnyNumber = static_cast<size_t>(-1);

Words WordsOf(Subcommand subcommand) {
  switch (subcommand) {
    case Subcommand::kRun:
    case Subcommand::kDemo:
    case Subcommand::kTokenize:
      return {1, "quote a text of several words"};
    case Subcommand::kDetokenize:
    case Subcommand::kNgramBuild:
    case Subcommand::kVocabCount:
      return {kAnyNumber, ""};
    case Subcommand::kInspect:
      return {1, "give one model"};
    case Subcommand::kBatch:
      return {1, "give one file of requests"};
    case Subcommand::kConvertHead:
      return {1, "give one head"};
    case Subcommand::kBench:
    case Subcommand::kTune:
    case Subcommand::kTrain:
      return {0, "prompts are given with --prompts"};
    case Subcommand::kBenchRows:
    case Subcommand::kServe:
      return {0, "it takes flags only"};
  }
  return {0, ""};
}

Error Wrong(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);  // [j]: distance of a's prefix to b's first j letters
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

Error UnknownFlag(Subcommand subcommand, std::string_view name) {
  std::string_view nearest;
  size_t distance = 3;  // a guess further off than two letters would confuse
  for (const FlagSpec& spec : FlagTable()) {
    if (!(spec.subcommands & 1u << static_cast<int>(subcommand)) || name.size() > 64) continue;
    if (const size_t d = EditDistance(name, spec.name); d < distance) {
      distance = d;
      nearest = spec.name;
    }
  }
  if (!nearest.empty()) {
    return Wrong(fmt::format("unknown flag {}; did you mean {}?", name, nearest));
  }
  return Wrong(
      fmt::format("unknown flag {}; see hunch {} --help", name, SubcommandName(subcommand)));
}

const FlagSpec* FindFlag(Subcommand subcommand, std::string_view name) {
  for (const FlagSpec& spec : FlagTable()) {
    if (!(spec.subcommands & 1u << static_cast<int>(subcommand))) continue;
    if (name == spec.name || (!spec.short_name.empty() && name == spec.short_name)) return &spec;
  }
  return nullptr;
}

// Reads the flag at arguments[index] and moves index to the last argument that belongs to it.
Status ReadFlag(Subcommand subcommand, std::span<const std::string> arguments, size_t& index,
                Flags& flags) {
  const std::string_view argument = arguments[index];
  const size_t equals = argument.starts_with("--") ? argument.find('=') : std::string_view::npos;
  const std::string_view name = argument.substr(0, equals);
  const FlagSpec* spec = FindFlag(subcommand, name);
  if (spec == nullptr) return UnknownFlag(subcommand, name);
  std::string_view value;
  if (spec->argument.empty()) {
    if (equals != std::string_view::npos) return Wrong(fmt::format("{} takes no value", name));
  } else if (equals != std::string_view::npos) {
    value = argument.substr(equals + 1);
  } else {
    if (index + 1 == arguments.size()) {
      return Wrong(fmt::format("{} needs a value: {} {}", name, spec->name, spec->argument));
    }
    value = arguments[++index];
  }
  const Status status = spec->set(flags, value);
  if (!status.ok()) return Wrong(fmt::format("{}: {}", spec->name, status.error().message));
  return Ok{};
}

}  // namespace

SamplingParams Flags::Sampling(int default_max_tokens) const {
  SamplingParams params = sampling;
  params.max_tokens = max_tokens.value_or(default_max_tokens);
  return params;
}

Result<Flags> ParseFlags(Subcommand subcommand, std::span<const std::string> arguments) {
  Flags flags;
  bool only_words = false;
  for (size_t index = 0; index < arguments.size(); ++index) {
    const std::string_view argument = arguments[index];
    if (only_words || argument == "-" || !argument.starts_with('-')) {
      flags.words.emplace_back(argument);
    } else if (argument == "--") {
      only_words = true;
    } else {
      HUNCH_RETURN_IF_ERROR(ReadFlag(subcommand, arguments, index, flags));
    }
    if (flags.help) return flags;
  }
  if (subcommand == Subcommand::kInspect && !flags.words.empty()) {
    if (!flags.model.empty()) return Wrong("the model is given twice, by --model and by name");
    flags.model = flags.words[0];
  }
  if (flags.model.empty()) {
    return Wrong(fmt::format("no model; give --model PATH of a GGUF file{}",
                             subcommand == Subcommand::kInspect ? ", or the path alone" : ""));
  }
  const Words words = WordsOf(subcommand);
  if (flags.words.size() > words.most) {
    return Wrong(
        fmt::format("unexpected argument '{}'; {}", flags.words[words.most], words.excess));
  }
  if (flags.raw && !flags.system.empty()) {
    return Wrong("--raw uses no chat template, so --system has no place; give one of them");
  }
  if (!flags.svg_file.empty() && flags.svg_file == flags.json_file) {
    return Wrong("--json and --svg name the same file");
  }
  if (!flags.report_file.empty() && flags.report_file == flags.out_file) {
    return Wrong("--report and --out name the same file");
  }
  if (flags.acceptance_warning) {
    flags.speculation.fields.acceptance_warning = *flags.acceptance_warning;
  }
  if (flags.sampling.logprobs >= 0 && !flags.json) return Wrong("--logprobs needs --json");
  return flags;
}

}  // namespace hunch

// hunch ngram build and hunch vocab count: what a corpus says about the text to come.
#include "session/corpus.h"

#include <fmt/format.h>

#include "apps/commands.h"
#include "apps/generate.h"
#include "apps/progress.h"

namespace hunch {
namespace {

constexpr int64_t kProgressSteps = 100;

Status CheckArguments(const Flags& flags, std::string_view what) {
  if (flags.words.empty()) {
    return Error{ErrorCode::kInvalidArgument, "no files to read; name text files"};
  }
  if (flags.out_file.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("nowhere to write to; give -o PATH for the {}", what)};
  }
  return Ok{};
}

// Shows how far it is; false once somebody interrupts.
OnCorpus Watch(Context& context, Progress& progress, int64_t& shown) {
  return [&](int64_t done, int64_t total) {
    for (; shown < done * kProgressSteps / total; ++shown) progress.Advance("read");
    return context.interrupts.Pending() == 0;
  };
}

Result<int> Finish(const Result<CorpusCount>& count, const Flags& flags, Context& context) {
  if (!count.ok()) {
    const int code = InterruptedExit(context);
    if (code == kExitOk) return count.error();
    context.console.err << "interrupted: nothing was written\n";
    return code;
  }
  context.console.err << fmt::format("{}: from {} tokens ({} bytes)\n", flags.out_file,
                                     count->tokens, count->bytes);
  return kExitOk;
}

}  // namespace

Result<int> NgramBuildCommand(const Flags& flags, Context& context) {
  HUNCH_RETURN_IF_ERROR(CheckArguments(flags, "table"));
  context.interrupts.Arm();
  Progress progress(context.console, kProgressSteps);
  int64_t shown = 0;
  return Finish(
      BuildNgramFile(flags.model, flags.words, flags.out_file, Watch(context, progress, shown)),
      flags, context);
}

Result<int> VocabCountCommand(const Flags& flags, Context& context) {
  HUNCH_RETURN_IF_ERROR(CheckArguments(flags, "list"));
  context.interrupts.Arm();
  Progress progress(context.console, kProgressSteps);
  int64_t shown = 0;
  return Finish(WriteFrequentTokens(flags.model, flags.words, flags.vocab_tokens, flags.out_file,
                                    Watch(context, progress, shown)),
                flags, context);
}

}  // namespace hunch

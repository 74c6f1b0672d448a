// hunch batch: a file of requests, answered offline, in OpenAI's batch format.
#include <fmt/format.h>

#include "apps/batch_run.h"
#include "apps/commands.h"
#include "apps/generate.h"
#include "apps/served_model.h"
#include "base/one_line.h"

namespace hunch {
namespace {

// The choices of all prompts of one request (64 of 64) fit beside those that run.
constexpr int kMostQueued = 4096;

Status CheckFiles(const Flags& flags) {
  if (flags.words.empty()) {
    return Error{ErrorCode::kInvalidArgument, "no requests; hunch batch IN.jsonl -o OUT.jsonl"};
  }
  if (flags.out_file.empty()) {
    return Error{ErrorCode::kInvalidArgument, "no file for the answers; give -o OUT.jsonl"};
  }
  return Ok{};
}

void Say(Context& context, const std::string& text) {
  context.console.err << OneLine("hunch batch: " + text) << std::endl;
}

std::string Wrongs(const BatchRun::Counts& counts) {
  return counts.wrong == 0 ? "" : fmt::format(", {} of them with an error", counts.wrong);
}

Result<int> AnswerLines(const Flags& flags, Context& context, BatchInput& input,
                        BatchOutput& output) {
  HUNCH_ASSIGN_OR_RETURN(const SpeculativeConfig speculation, SpeculationOf(flags));
  HUNCH_ASSIGN_OR_RETURN(auto loaded, LoadServedModel(flags, speculation, context));
  Mailbox mailbox;
  AsyncLlm llm(std::move(loaded), {flags.served_seqs, kMostQueued});
  ApiOptions options;
  options.model_names = ModelNames(flags);
  options.speculation = speculation;
  options.fingerprint = Fingerprint(flags);
  Api api(llm, std::move(options));
  context.interrupts.Arm();
  // As many are prepared while others run.
  BatchRun run(input, output, llm, api, mailbox, context, 2 * flags.served_seqs);
  HUNCH_ASSIGN_OR_RETURN(const bool complete, run.Run());
  const int64_t done = output.done() + run.counts().written;
  if (!complete) {
    Say(context, fmt::format("stopped: {} of {} lines are answered in {}; the same command goes on "
                             "from there",
                             done, input.size(), flags.out_file));
    return InterruptedExit(context);
  }
  Say(context, fmt::format("{} lines answered in {}{}", run.counts().written, flags.out_file,
                           Wrongs(run.counts())));
  return kExitOk;
}

}  // namespace

Result<int> BatchCommand(const Flags& flags, Context& context) {
  HUNCH_RETURN_IF_ERROR(CheckFiles(flags));
  HUNCH_ASSIGN_OR_RETURN(const auto input, BatchInput::Open(flags.words[0]));
  HUNCH_ASSIGN_OR_RETURN(const auto output,
                         BatchOutput::Open(flags.out_file, *input, Fingerprint(flags)));
  if (output->cut()) {
    Say(context, fmt::format("{}: a torn last line is dropped and answered again", flags.out_file));
  }
  const int64_t left = input->size() - output->done();
  if (output->done() > 0) {
    Say(context, fmt::format("{} of {} lines are answered already", output->done(), input->size()));
  }
  if (left == 0) return kExitOk;
  return AnswerLines(flags, context, *input, *output);
}

}  // namespace hunch

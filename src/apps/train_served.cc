// hunch train --learn: a round of learning while serving. A head goes on from another one, on the
// newest text that a server kept, at idle priority; what was begun and not ended is not gone on
// with, since by then there is newer text.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "apps/commands.h"
#include "apps/generate.h"
#include "apps/train_student.h"
#include "base/isa.h"
#include "base/memory.h"
#include "base/thread_pool.h"
#include "quant/quantize.h"
#include "session/corpus.h"
#include "train/head_start.h"
#include "train/head_student.h"
#include "train/learned_set.h"
#include "train/training_memory.h"

namespace hunch {
namespace {

constexpr int64_t kMostRows = 65'536;  // of the newest texts: of SmolLM2, 170 MB

}  // namespace

Result<int> TrainOnServed(const Flags& flags, Context& context) {
  context.serve_quietly();
  HUNCH_RETURN_IF_ERROR(ChooseIsa());
  const std::string& folder = flags.train.learn;
  if (flags.train.from.empty()) {
    return Error{ErrorCode::kInvalidArgument, "--learn needs --from, the head to go on from"};
  }
  HUNCH_ASSIGN_OR_RETURN(std::shared_ptr<const GgufFile> file, GgufFile::Open(flags.model));
  HUNCH_ASSIGN_OR_RETURN(const TargetRows target, TargetRows::Open(std::move(file)));
  HUNCH_ASSIGN_OR_RETURN(const auto tokenizer, Tokenizer::Create(*target.file()));
  HUNCH_ASSIGN_OR_RETURN(const TrainedBefore from,
                         OpenTrainedHead(flags.train.from, target, VocabularyIdOf(*tokenizer)));
  TrainOptions options = TrainOptionsOf(flags.train);
  if (from.config.kind == HeadKind::kMedusa) options.steps = from.config.medusa_heads;
  const auto types = std::span(kHeadTypes);
  if (std::find(types.begin(), types.end(), from.type) != types.end()) options.type = from.type;
  options.precision = options.precision.value_or(Precision::kF32);  // too short to time both
  HUNCH_ASSIGN_OR_RETURN(
      const auto learned,
      LearnedSet::Open(folder, SegmentKindOf(*target.file(), from.config), tokenizer->vocab_size(),
                       kMostRows, std::max(options.steps, kJudgedSteps)));
  int longest = 0;
  for (const PlacedText& placed : learned->set().all) {
    longest = std::max(longest, placed.text->size());
  }
  HUNCH_RETURN_IF_ERROR(
      CheckTrainingFits(MemoryToTrain(from.config, options, longest), AvailableMemoryBytes()));
  const std::string checkpoint = folder + "/checkpoint.gguf";
  std::error_code ignored;
  std::filesystem::remove(checkpoint, ignored);
  const auto trainer = context.make_head_trainer(StartOf(
      from.config, target, options.seed, flags.threads > 0 ? flags.threads : AvailableCpus()));
  HeadStudent student(from.config, target, from.state);
  const TrainTask task = {student, learned->set(), *learned, checkpoint, flags.out_file};
  context.interrupts.Arm();
  const auto on_train = [&](const TrainReport& report) {
    if (report.judged != nullptr) {
      context.console.err << fmt::format("{} tokens: loss {:.3f}, {:.3f} tokens per pass\n",
                                         report.judged->tokens, report.judged->loss,
                                         report.judged->tokens_per_pass)
                          << std::flush;
    }
    return context.interrupts.Pending() == 0;
  };
  HUNCH_ASSIGN_OR_RETURN(const TrainOutcome outcome,
                         TrainHead(options, task, *trainer, on_train, {}));
  std::filesystem::remove(checkpoint, ignored);
  return outcome.finished ? Result<int>(kExitOk) : InterruptedExit(context);
}

}  // namespace hunch

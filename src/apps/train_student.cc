#include "apps/train_student.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "train/draft_student.h"
#include "train/head_start.h"
#include "train/head_student.h"
#include "train/new_head.h"

namespace hunch {
namespace {

// What a draft model keeps of the target's layers unless told: one of so many.
constexpr int kKeptOf = 5;

int LongestText(const TrainSet& set) {
  int longest = 0;
  for (const PlacedText& placed : set.all) longest = std::max(longest, placed.text->size());
  return longest;
}

Result<HeadConfig> NewConfig(const StudentSource& source, int steps) {
  const TrainFlags& wanted = source.flags.train;
  return ConfigOf({.kind = *wanted.kind,
                   .taps = wanted.taps,
                   .tokens = GuessableTokens(source.set.learned, source.tokenizer.vocab_size(),
                                             wanted.head_tokens, source.tokenizer.end_tokens()),
                   .steps = steps},
                  source.target, source.vocabulary);
}

// Flags of another kind would change nothing, and nobody would say so.
Status CheckKind(const TrainFlags& train) {
  const bool eagle3 = train.kind == HeadKind::kEagle3;
  const auto refuse = [](std::string_view flag, std::string_view whose) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{} is of {}", flag, whose)};
  };
  if (train.kind && !train.layers.empty()) return refuse("--layers", "--kind draft");
  if (!eagle3 && !train.taps.empty()) return refuse("--taps", "--kind eagle3");
  if (train.kind && !train.from.empty() && !train.taps.empty()) {
    return refuse("--taps", "a new head: one to go on from (--from) keeps its own");
  }
  return Ok{};
}

Result<PlannedStudent> PlanHead(const StudentSource& source) {
  PlannedStudent planned;
  planned.options = TrainOptionsOf(source.flags.train);
  TrainOptions& options = planned.options;
  HeadConfig config;
  std::optional<HeadState> from;
  if (source.flags.train.from.empty()) {
    HUNCH_ASSIGN_OR_RETURN(config, NewConfig(source, options.steps));
  } else {
    HUNCH_ASSIGN_OR_RETURN(TrainedBefore before, OpenTrainedHead(source.flags.train.from,
                                                                 source.target, source.vocabulary));
    config = std::move(before.config);
    from = std::move(before.state);
  }
  if (config.kind == HeadKind::kMedusa) options.steps = config.medusa_heads;
  planned.memory = MemoryToTrain(config, options, LongestText(source.set));
  planned.make_trainer = [source, config, seed = options.seed] {
    return source.context.make_head_trainer(StartOf(config, source.target, seed, source.threads));
  };
  planned.student =
      std::make_unique<HeadStudent>(std::move(config), source.target, std::move(from));
  return planned;
}

Result<PlannedStudent> PlanDraft(const StudentSource& source) {
  const Flags& flags = source.flags;
  std::shared_ptr<const GgufFile> file = source.target.file();
  std::vector<int> layers = flags.train.layers;
  if (!flags.train.from.empty()) {
    HUNCH_ASSIGN_OR_RETURN(OpenedTokenizer from, OpenTokenizer(flags.train.from));
    const std::string difference = VocabularyDifference(source.tokenizer, *from.tokenizer);
    if (!difference.empty()) {
      return Error{
          ErrorCode::kInvalidArgument,
          fmt::format("{} cannot draft for {}: {}", flags.train.from, flags.model, difference)};
    }
    from.tokenizer.reset();  // it points into the file
    file = std::move(from.file);
  } else if (layers.empty()) {
    layers = {std::max(1, source.target.config().layers / kKeptOf)};
  }
  HUNCH_ASSIGN_OR_RETURN(
      std::unique_ptr<DraftStudent> draft,
      DraftStudent::Create(std::move(file), std::move(layers), source.target, source.vocabulary));
  PlannedStudent planned;
  planned.options = TrainOptionsOf(flags.train);
  planned.options.steps = 1;
  planned.memory = MemoryToTrain(*draft, source.target.config().hidden, planned.options,
                                 LongestText(source.set));
  planned.make_trainer = [source, &draft = *draft] {
    return source.context.make_draft_trainer(draft.Start(source.threads));
  };
  planned.student = std::move(draft);
  return planned;
}

}  // namespace

TrainOptions TrainOptionsOf(const TrainFlags& train) {
  const bool head = train.kind.has_value(), anew = train.from.empty();
  TrainOptions options = train.options;
  if (!head || !anew) {
    options.batch_tokens = 2048;
    options.learning_rate = head || anew ? 5e-4 : 1e-4;
  }
  options.batch_tokens = train.batch_tokens.value_or(options.batch_tokens);
  if (train.learning_rate) options.learning_rate = *train.learning_rate;
  return options;
}

Result<PlannedStudent> PlanStudent(const StudentSource& source) {
  HUNCH_RETURN_IF_ERROR(CheckKind(source.flags.train));
  return source.flags.train.kind ? PlanHead(source) : PlanDraft(source);
}

}  // namespace hunch

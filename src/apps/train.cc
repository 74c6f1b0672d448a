// hunch train: answers, hidden states, a head or a draft model. Each of the three is kept in the
// folder of --work, and what is there is not made again.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <utility>

#include "apps/commands.h"
#include "apps/generate.h"
#include "apps/progress.h"
#include "apps/prompts_file.h"
#include "apps/train_report.h"
#include "apps/train_student.h"
#include "apps/write_file.h"
#include "base/fnv.h"
#include "base/isa.h"
#include "base/memory.h"
#include "base/stopwatch.h"
#include "base/thread_pool.h"
#include "session/corpus.h"

namespace hunch {
namespace {

constexpr int kMostTextTokens = 2048;  // of a prompt and its answer
constexpr int kProgressSteps = 100;

// A target that reads texts, and what it stands on.
struct LoadedReader {
  explicit LoadedReader(int threads) : pool(threads) {}
  ThreadPool pool;
  std::unique_ptr<Model> model;
};

class Training {
 public:
  Training(const Flags& flags, Context& context)
      : flags_(flags),
        context_(context),
        threads_(flags.threads > 0 ? flags.threads : AvailableCpus()),
        work_(flags.train.work.empty() ? flags.out_file + ".train" : flags.train.work) {}

  Result<int> Run() {
    HUNCH_RETURN_IF_ERROR(Open());
    // Once without texts: what is wrong with the flags is not to be said after an hour of answers.
    HUNCH_RETURN_IF_ERROR(PlanOn(TrainSet()));
    HUNCH_ASSIGN_OR_RETURN(bool goes_on, MakeAllTexts());
    if (!goes_on) return Interrupted();
    HUNCH_RETURN_IF_ERROR(Plan());
    HUNCH_ASSIGN_OR_RETURN(goes_on, MakeFeatures());
    if (!goes_on) return Interrupted();
    HUNCH_ASSIGN_OR_RETURN(const TrainOutcome outcome, Learn());
    if (!flags_.report_file.empty()) {
      const TrainedStudent trained = {*planned_.student, set_, planned_.options, outcome};
      HUNCH_RETURN_IF_ERROR(WriteFile(flags_.report_file, TrainHtml(trained, flags_)));
    }
    if (!outcome.finished) return Interrupted();
    Say("{}: {:.2f} tokens per pass on held-out answers, after {} tokens{}", flags_.out_file,
        outcome.position.best, outcome.position.tokens, BeforeText(outcome.position.curve));
    return kExitOk;
  }

 private:
  template <typename... Arguments>
  void Say(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    context_.console.err << fmt::format(format, std::forward<Arguments>(arguments)...) << std::endl;
  }
  bool Stopped() const { return context_.interrupts.Pending() != 0; }
  std::string WorkPath(std::string_view name) const { return fmt::format("{}/{}", work_, name); }

  Result<int> Interrupted() {
    Say("interrupted: the same command goes on from here");
    return InterruptedExit(context_);
  }

  Status Open() {
    HUNCH_RETURN_IF_ERROR(ChooseIsa());
    HUNCH_RETURN_IF_ERROR(CheckWritable(flags_.out_file));
    if (!flags_.report_file.empty()) HUNCH_RETURN_IF_ERROR(CheckWritable(flags_.report_file));
    std::error_code error;
    std::filesystem::create_directories(work_, error);
    if (error) {
      return Error{ErrorCode::kIo,
                   fmt::format("cannot make the folder {}: {}", work_, error.message())};
    }
    HUNCH_ASSIGN_OR_RETURN(std::shared_ptr<const GgufFile> file, GgufFile::Open(flags_.model));
    HUNCH_ASSIGN_OR_RETURN(target_, TargetRows::Open(std::move(file)));
    HUNCH_ASSIGN_OR_RETURN(tokenizer_, Tokenizer::Create(*target_->file()));
    vocabulary_ = VocabularyIdOf(*tokenizer_);
    return Ok{};
  }

  Status ReadPrompts(TextOptions& texts) const {
    texts = flags_.train.texts;
    for (const std::string& path : flags_.prompt_files) {
      HUNCH_ASSIGN_OR_RETURN(const std::vector<BenchPrompt> prompts, ReadPromptsFile(path, 0));
      for (const BenchPrompt& prompt : prompts) texts.prompts.push_back(prompt.text);
    }
    if (!texts.prompts.empty()) texts.requests = static_cast<int>(texts.prompts.size());
    if (flags_.train.requests > 0) texts.requests = flags_.train.requests;
    return Ok{};
  }

  // False: interrupted.
  Result<bool> MakeAllTexts() {
    HUNCH_RETURN_IF_ERROR(ReadPrompts(texts_));
    HUNCH_ASSIGN_OR_RETURN(TokenData data,
                           TokenData::Open(WorkPath("tokens.bin"), vocabulary_,
                                           RecipeOf(texts_, target_->Fingerprint())));
    data_ = std::make_unique<TokenData>(std::move(data));
    const auto& made = data_->texts();
    const auto end = made.lower_bound(static_cast<uint32_t>(texts_.requests));
    if (std::distance(made.begin(), end) == texts_.requests) return true;
    LlmOptions load;
    load.model = flags_.model;
    load.threads = threads_;
    load.max_num_seqs = texts_.at_once;
    // The model's own questions are short; room for long prompts would be cache that nobody uses.
    load.max_model_len = std::min(texts_.prompts.empty() ? kMostTextTokens / 2 : kMostTextTokens,
                                  target_->config().context_length);
    load.enable_prefix_caching = true;
    HUNCH_ASSIGN_OR_RETURN(const std::unique_ptr<Llm> llm, context_.load(load));
    context_.interrupts.Arm();
    Progress progress(context_.console, texts_.requests);
    const Stopwatch watch;
    const int64_t tokens_before = data_->answer_tokens();
    int shown = 0;
    HUNCH_ASSIGN_OR_RETURN(
        const bool all, MakeTexts(*llm, texts_, *data_, [&](const TextProgress& now) {
          const double rate =
              static_cast<double>(now.answer_tokens - tokens_before) / watch.Seconds();
          for (; shown < now.done; ++shown) {
            progress.Advance(
                fmt::format("answers, {} tokens, {:.0f} tokens/s", now.answer_tokens, rate));
          }
          return !Stopped();
        }));
    return all;
  }

  Status PlanOn(const TrainSet& set) {
    HUNCH_ASSIGN_OR_RETURN(planned_, PlanStudent({flags_, context_, *target_, *tokenizer_,
                                                  vocabulary_, set, threads_}));
    return Ok{};
  }

  // What is learned, by whom, and whether there is memory for it.
  Status Plan() {
    set_ = MakeTrainSet(*data_, texts_.requests, std::max(flags_.train.options.steps, kJudgedSteps),
                        kMostTextTokens);
    if (set_.learned.empty() || set_.held_out.empty()) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("{} of {} answers can be learned from and {} be judged by, which is "
                               "too few; raise --requests",
                               set_.learned.size(), texts_.requests, set_.held_out.size())};
    }
    HUNCH_RETURN_IF_ERROR(PlanOn(set_));
    taps_ = planned_.student->Taps();
    HUNCH_RETURN_IF_ERROR(CheckTrainingFits(planned_.memory, AvailableMemoryBytes()));
    Say("{} answers of {} tokens to learn from, {} held out; training needs about {:.0f} MB",
        set_.learned.size(), set_.learned_tokens, set_.held_out.size(),
        static_cast<double>(planned_.memory.total()) / 1e6);
    return Ok{};
  }

  Result<bool> MakeFeatures() {
    const FeatureLayout layout = {target_->config().hidden, static_cast<int>(taps_.size()) + 1};
    const uint64_t key = Fnv64(fmt::format("{:x} {:x} {}", set_.fingerprint, target_->Fingerprint(),
                                           fmt::join(taps_, ",")));
    HUNCH_ASSIGN_OR_RETURN(
        features_, Features::Open(WorkPath("features.bin"), layout, key,
                                  static_cast<uint64_t>(double{flags_.train.features_gb} * 1e9),
                                  [this] { return MakeReader(); }));
    context_.interrupts.Arm();
    Progress progress(context_.console, kProgressSteps);
    const Stopwatch watch;
    int64_t shown = 0, before = -1;
    return features_->Fill(set_.all, [&](int64_t rows, int64_t all) {
      if (before < 0) before = rows;
      const double rate = static_cast<double>(rows - before) / watch.Seconds();
      for (; shown < rows * kProgressSteps / all; ++shown) {
        progress.Advance(fmt::format("hidden states, {:.0f} tokens/s", rate));
      }
      return !Stopped();
    });
  }

  Result<std::unique_ptr<TapReader>> MakeReader() {
    loaded_ = std::make_unique<LoadedReader>(threads_);
    HUNCH_ASSIGN_OR_RETURN(loaded_->model, Model::Load(target_->file(), loaded_->pool,
                                                       {.max_rows = 256, .max_logit_rows = 1}));
    return TapReader::Create(*loaded_->model, taps_, kMostTextTokens);
  }

  Result<TrainOutcome> Learn() {
    const std::unique_ptr<HeadTrainer> trainer = planned_.make_trainer();
    std::optional<Progress> progress;
    int64_t shown = 0;
    std::string judged = "-";
    const auto on_train = [&](const TrainReport& report) {
      if (!progress) progress.emplace(context_.console, report.updates);
      if (report.judged != nullptr) {
        judged = fmt::format("{:.3f}", report.judged->tokens_per_pass);
        progress->Print(JudgedLine(*report.judged));
      }
      const double left =
          static_cast<double>(report.updates - report.update) * report.seconds_per_update;
      for (; shown < report.update; ++shown) {
        progress->Advance(
            fmt::format("loss {:.3f}, {} tokens per pass, {:.0f} tokens/s, {:.0f} min "
                        "left",
                        report.loss, judged, report.tokens_per_second, left / 60));
      }
      return !Stopped();
    };
    const TrainTask task = {*planned_.student, set_, *features_, WorkPath("checkpoint.gguf"),
                            flags_.out_file};
    return TrainHead(planned_.options, task, *trainer, on_train, [&](double f32, double bf16) {
      Say("an update takes {:.2f} s in f32 and {:.2f} s in bf16", f32, bf16);
    });
  }

  static std::string JudgedLine(const CurvePoint& point) {
    if (point.tokens == 0) {
      return fmt::format("before: {:.3f} tokens per pass, right guesses {:.2f}",
                         point.tokens_per_pass, fmt::join(point.right, " "));
    }
    return fmt::format("{} tokens: loss {:.3f}, {:.3f} tokens per pass, right guesses {:.2f}",
                       point.tokens, point.loss, point.tokens_per_pass,
                       fmt::join(point.right, " "));
  }

  const Flags& flags_;
  Context& context_;
  const int threads_;
  const std::string work_;
  std::optional<TargetRows> target_;
  std::unique_ptr<Tokenizer> tokenizer_;
  VocabularyId vocabulary_;
  TextOptions texts_;
  std::unique_ptr<TokenData> data_;
  TrainSet set_;
  PlannedStudent planned_;
  std::vector<int> taps_;  // of the student
  std::unique_ptr<LoadedReader> loaded_;
  std::unique_ptr<Features> features_;  // may use loaded_
};

}  // namespace

Result<int> TrainCommand(const Flags& flags, Context& context) {
  if (flags.out_file.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "nowhere to write to; give -o PATH for what is trained"};
  }
  if (context.make_head_trainer) {
    if (!flags.train.learn.empty()) return TrainOnServed(flags, context);
    return Training(flags, context).Run();
  }
  if (context.become_hunch_train) return context.become_hunch_train();
  return Error{ErrorCode::kUnsupported, "this program cannot train"};
}

}  // namespace hunch

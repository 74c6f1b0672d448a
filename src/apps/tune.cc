// hunch tune: which way of guessing is the fastest here, for the user's model and prompts.
//
// Settings run against plain decoding prompt by prompt, in an order that rotates, in one race after
// another: first those that need no draft model, with the head that is shipped, then those of each
// draft model, which takes the place of the one before it. Speed-ups compare within a race's turns,
// so races compare too.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>

#include "apps/bench_run.h"
#include "apps/commands.h"
#include "apps/generate.h"
#include "apps/profile.h"
#include "apps/progress.h"
#include "apps/tune_report.h"
#include "apps/write_file.h"
#include "base/isa.h"
#include "base/one_line.h"

namespace hunch {
namespace {

constexpr int kShortWarmUp = 8, kLongWarmUp = 40;  // tokens
constexpr int kWarmUpGuesses = 4;
// What a race of one draft model takes of the time of the first one, before it is known.
constexpr double kRaceShare = 0.5;

Error Wrong(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

std::string FileName(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// Vocabulary and memory, from the headers alone: before minutes of measuring, not after them. Gives
// what the file guesses as.
Result<DrafterKind> CheckDraft(const Flags& flags, const std::string& draft,
                               const Context& context) {
  LlmOptions options = ModelOptions(flags);
  options.draft_model = draft;
  HUNCH_ASSIGN_OR_RETURN(const InspectReport report, context.inspect(options));
  if (!report.vocabulary_difference.empty()) {
    return Wrong(
        fmt::format("{} cannot draft for {}: {}. A draft model must share the target's "
                    "tokenizer: use a smaller model of the same family",
                    draft, flags.model, report.vocabulary_difference));
  }
  const MemoryPlan& memory = report.memory;
  if (memory.total() <= memory.available) {
    return report.draft.empty() ? DrafterKind::kDraftModel : report.draft[0].drafter;
  }
  return Error{ErrorCode::kResourceExhausted,
               fmt::format("{} beside {} needs {:.0f} MB and {:.0f} MB are free: use a smaller "
                           "draft model or a shorter --max-model-len",
                           draft, flags.model, static_cast<double>(memory.total()) / 1e6,
                           static_cast<double>(memory.available) / 1e6)};
}

std::string LeftText(double seconds) {
  if (seconds < 90) return fmt::format("about {:.0f} s left", seconds);
  return fmt::format("about {:.0f} min left", std::ceil(seconds / 60));
}

class Tune {
 public:
  Tune(const Flags& flags, Context& context)
      : flags_(flags), context_(context), params_(flags.Sampling(kBenchMaxTokens)) {}

  Status Load() {
    std::vector<BenchPrompt> prompts;
    for (const std::string& file : flags_.prompt_files) {
      HUNCH_ASSIGN_OR_RETURN(auto more, ReadPromptsFile(file, flags_.tune_per_category));
      prompts.insert(prompts.end(), more.begin(), more.end());
    }
    HUNCH_RETURN_IF_ERROR(ChooseIsa());
    for (const std::string& draft : flags_.drafts) {
      HUNCH_ASSIGN_OR_RETURN(const DrafterKind kind, CheckDraft(flags_, draft, context_));
      results_.drafts.push_back({.path = draft, .kind = kind, .line = ""});
    }
    SpeculativeConfig automatic;
    automatic.method = DraftMethod::Auto();
    HUNCH_ASSIGN_OR_RETURN(llm_, LoadModelFor(flags_, automatic, context_));
    HUNCH_ASSIGN_OR_RETURN(
        EncodedPrompts encoded,
        EncodePrompts(*llm_, flags_, params_.max_tokens, InterleaveCategories(std::move(prompts))));
    prompts_ = std::move(encoded.prompts);
    references_.resize(prompts_.size());
    results_.prompts = prompts_.size();
    results_.skipped = encoded.skipped.size();
    results_.threads = llm_->threads();
    results_.max_model_len = llm_->max_model_len();
    return Ok{};
  }

  Status Run() {
    const auto races = static_cast<int64_t>(1 + results_.drafts.size());
    Progress progress(context_.console, races * static_cast<int64_t>(prompts_.size()));
    HUNCH_RETURN_IF_ERROR(Race(ModelFreeSettings(llm_->head_method()), races - 1, progress));
    for (TuneDraft& draft : results_.drafts) {
      --races_after_;
      if (stopped_) break;
      HUNCH_RETURN_IF_ERROR(Meet(draft, progress));
      if (stopped_) break;
      HUNCH_RETURN_IF_ERROR(
          Race(DraftModelSettings(draft.kind, draft.path), races_after_, progress));
    }
    Conclude();
    return Ok{};
  }

  const TuneResults& results() const { return results_; }

  Profile MakeProfile(const FileIdentity& model) const {
    const TuneRow& row = results_.rows[results_.chosen];
    Profile profile = {.model = model,
                       .cpu = CpuName(),
                       .isa = std::string(IsaName(ActiveIsa())),
                       .threads = results_.threads,
                       .method = row.config.method,
                       .num_speculative_tokens = row.config.num_speculative_tokens,
                       .draft_model = row.config.model,
                       .pass_times = results_.pass_times,
                       .tokens_per_second = row.tokens_per_second,
                       .speedup = row.speedup};
    // It may be read from another folder.
    std::error_code error;
    if (const auto path = std::filesystem::absolute(profile.draft_model, error);
        !error && !profile.draft_model.empty()) {
      profile.draft_model = path.string();
    }
    return profile;
  }

 private:
  bool Interrupted() {
    stopped_ = stopped_ || context_.interrupts.Pending() != 0;
    return stopped_;
  }
  OnText KeepGoing() {
    return [this](const TextDelta&) { return context_.interrupts.Pending() == 0; };
  }

  // The first requests meet cold pages and caches, which is no setting's merit or fault.
  Result<RequestOutput> WarmUp(const SpeculativeConfig& config, int tokens) {
    SamplingParams params = params_;
    params.max_tokens = tokens;
    return llm_->Generate(prompts_[0].tokens, params, config, KeepGoing());
  }

  // Loads a draft model and finds out what its passes cost.
  Status Meet(TuneDraft& draft, Progress& progress) {
    SpeculativeConfig config;
    config.method = draft.kind;
    config.model = draft.path;
    config.num_speculative_tokens = kWarmUpGuesses;
    HUNCH_RETURN_IF_ERROR(llm_->SwapSpeculation(config));
    HUNCH_ASSIGN_OR_RETURN(const RequestOutput few, WarmUp(config, kShortWarmUp));
    HUNCH_ASSIGN_OR_RETURN(const RequestOutput many, WarmUp(config, kLongWarmUp));
    if (Interrupted()) return Ok{};
    // The difference: both read the prompt first.
    double seconds = 0, passes = 0;
    for (const auto& [output, sign] : {std::pair(&many, 1.0), std::pair(&few, -1.0)}) {
      for (const DrafterStats& stats : output->speculation.drafters) {
        seconds += sign * stats.seconds;
        passes += sign * static_cast<double>(stats.passes);
      }
    }
    const std::vector<PassTime> times = llm_->pass_times();
    if (passes <= 0 || seconds <= 0 || times.empty()) return Ok{};
    const CostCurve curve(times);
    draft.cost_ratio = seconds / passes / curve.Seconds(1);
    draft.line = CostRatioLine(FileName(draft.path), draft.cost_ratio, curve);
    progress.Print(OneLine(draft.line));
    return Ok{};
  }

  // Warms each method up. One that this program cannot run takes no part.
  Status Enter(const std::vector<SpeculativeConfig>& settings, Progress& progress) {
    std::optional<DraftMethod> tried;
    bool runs = true;
    for (const SpeculativeConfig& config : settings) {
      if (tried != config.method) {
        const auto warmed = WarmUp(config, kShortWarmUp);
        runs = warmed.ok();
        if (!runs && warmed.error().code != ErrorCode::kUnsupported) return warmed.error();
        if (!runs) progress.Print(fmt::format("{} takes no part", DraftMethodName(config.method)));
        tried = config.method;
      }
      if (runs) results_.entries.push_back({.config = config});
    }
    return Ok{};
  }

  // Runs settings on all prompts beside plain decoding, which is entries[0].
  Status Race(const std::vector<SpeculativeConfig>& settings, int64_t races_after,
              Progress& progress) {
    races_after_ = races_after;
    const size_t first = results_.entries.size();
    HUNCH_RETURN_IF_ERROR(Enter(settings, progress));
    const size_t from = std::max<size_t>(first, 1);  // plain decoding runs anyway
    for (size_t prompt = 0; prompt < prompts_.size(); ++prompt) {
      std::vector<size_t> running;
      for (size_t i = from; i < results_.entries.size(); ++i) {
        if (!results_.entries[i].dropped) running.push_back(i);
      }
      HUNCH_RETURN_IF_ERROR(RunPrompt(prompt, running, progress));
      if (stopped_) return Ok{};
      DropBehind(results_.entries, from, prompt + 1);
      progress.Advance(fmt::format("prompts, {} of {} settings left, {}", running.size(),
                                   results_.entries.size() - from,
                                   LeftText(SecondsLeft(running, prompt + 1))));
    }
    return RunDroppedTooEarly(from, progress);
  }

  Status RunDroppedTooEarly(size_t from, Progress& progress) {
    while (true) {
      std::vector<size_t> late = DroppedTooEarly(results_.entries);
      std::erase_if(late, [&](size_t i) { return i < from; });  // its draft model is gone
      if (late.empty()) return Ok{};
      for (size_t prompt = 0; prompt < prompts_.size(); ++prompt) {
        std::vector<size_t> missing;
        for (const size_t i : late) {
          if (!results_.entries[i].Has(prompt)) missing.push_back(i);
        }
        if (missing.empty()) continue;
        HUNCH_RETURN_IF_ERROR(RunPrompt(prompt, missing, progress));
        if (stopped_) return Ok{};
      }
      for (const size_t i : late) results_.entries[i].dropped = false;
    }
  }

  // One prompt, answered plainly and by each of `running`. An interrupted turn leaves no trace.
  Status RunPrompt(size_t prompt, const std::vector<size_t>& running, Progress& progress) {
    std::vector<size_t> order = {0};
    order.insert(order.end(), running.begin(), running.end());
    std::rotate(order.begin(), order.begin() + prompt % order.size(), order.end());
    std::map<size_t, TimedAnswer> answers;
    for (const size_t i : order) {
      HUNCH_ASSIGN_OR_RETURN(answers[i],
                             TimeAnswer(*llm_, prompts_[prompt].tokens, params_,
                                        results_.entries[i].config, KeepGoing(), context_));
      if (Interrupted()) return Ok{};
    }
    const double plain_seconds = answers[0].sample.wall_seconds;
    if (!references_[prompt]) references_[prompt] = answers[0].output;
    for (auto& [i, answer] : answers) {
      Compare(prompt, answer.output, results_.entries[i], progress);
      results_.entries[i].samples.push_back({prompt, std::move(answer.sample), plain_seconds});
    }
    return Ok{};
  }

  void Compare(size_t prompt, const RequestOutput& output, TuneEntry& entry, Progress& progress) {
    if (params_.acceptance != AcceptanceRule::kCoupled) return;  // they promise no text
    const auto difference = CompareOutputs(*references_[prompt], output);
    if (!difference) return;
    entry.identical = false;
    results_.differences.push_back(OneLine(
        fmt::format("{}, {}: token {} is another one than plain decoding's",
                    prompts_[prompt].prompt.id, MethodLabel(entry.config), difference->position)));
    progress.Print("differs: " + results_.differences.back());
  }

  double SecondsLeft(const std::vector<size_t>& running, size_t done) const {
    double turn = 0;  // of one prompt
    for (const size_t i : running) turn += results_.entries[i].samples.back().own.wall_seconds;
    const TuneSample& plain = results_.entries[0].samples.back();
    turn += plain.own.wall_seconds;
    const auto prompts = static_cast<double>(prompts_.size());
    const double settings =
        static_cast<double>(DraftModelSettings(DrafterKind::kDraftModel, "").size()) * kRaceShare +
        1;
    return turn * (prompts - static_cast<double>(done)) +
           static_cast<double>(races_after_) * prompts * settings * plain.own.wall_seconds;
  }

  void Conclude() {
    results_.interrupted = stopped_;
    results_.pass_times = llm_->pass_times();
    const std::vector<PassTime> unknown = {{1, 1.0}};
    const CostCurve curve(results_.pass_times.empty() ? unknown : results_.pass_times);
    results_.rows = TuneRows(results_.entries, curve);
    results_.chosen = stopped_ ? -1 : ChooseRow(results_.rows);
  }

  const Flags& flags_;
  Context& context_;
  const SamplingParams params_;
  std::unique_ptr<Llm> llm_;
  std::vector<EncodedPrompt> prompts_;
  std::vector<std::optional<RequestOutput>> references_;  // [prompts_]: plain decoding's first
  int64_t races_after_ = 0;                               // the running one
  bool stopped_ = false;
  TuneResults results_;
};

// How to use the row that was chosen.
std::string ChosenLine(const TuneResults& results, const Flags& flags) {
  const SpeculativeConfig& config = results.rows[results.chosen].config;
  if (!flags.out_file.empty()) {
    return fmt::format("the best, {}, is in the profile: hunch run --model {} --profile {}",
                       MethodLabel(config), flags.model, flags.out_file);
  }
  Json json = {{"method", DraftMethodName(config.method)}};
  if (!config.model.empty()) json["model"] = config.model;
  if (config.num_speculative_tokens > 0) {
    json["num_speculative_tokens"] = config.num_speculative_tokens;
  }
  return fmt::format("the best: --speculative-config '{}' (--out FILE writes it as a profile)",
                     DumpJson(json));
}

Status CheckFiles(const Flags& flags) {
  if (!flags.out_file.empty()) HUNCH_RETURN_IF_ERROR(CheckWritable(flags.out_file));
  if (!flags.report_file.empty()) HUNCH_RETURN_IF_ERROR(CheckWritable(flags.report_file));
  return Ok{};
}

}  // namespace

Result<int> TuneCommand(const Flags& flags, Context& context) {
  if (flags.prompt_files.empty()) return Wrong("no prompts; give --prompts FILE.jsonl");
  HUNCH_RETURN_IF_ERROR(CheckFiles(flags));
  FileIdentity model;
  if (!flags.out_file.empty()) {
    HUNCH_ASSIGN_OR_RETURN(model, IdentifyFile(flags.model));
  }
  Tune tune(flags, context);
  HUNCH_RETURN_IF_ERROR(tune.Load());
  const TuneResults& results = tune.results();
  std::ostream& err = context.console.err;
  if (results.skipped > 0)
    err << SkippedLine(results.skipped, results.prompts, results.max_model_len);
  context.interrupts.Arm();
  HUNCH_RETURN_IF_ERROR(tune.Run());
  if (results.rows.empty()) {
    err << "hunch tune: interrupted before the first result\n";
    return InterruptedExit(context);
  }
  context.console.out << (flags.json ? DumpJson(TuneJson(results, flags)) + '\n'
                                     : TuneTable(results.rows, results.chosen));
  if (!flags.report_file.empty()) {
    HUNCH_RETURN_IF_ERROR(WriteFile(flags.report_file, TuneHtml(results, flags)));
  }
  if (results.interrupted) {
    err << "hunch tune: interrupted: not every prompt was run"
        << (flags.out_file.empty() ? "\n" : "; no profile was written\n");
  }
  if (!results.differences.empty()) return kExitDifferent;
  if (results.interrupted || results.chosen < 0) return InterruptedExit(context);
  if (!flags.out_file.empty()) {
    HUNCH_RETURN_IF_ERROR(
        WriteFile(flags.out_file, DumpJson(ProfileJson(tune.MakeProfile(model))) + '\n'));
  }
  err << OneLine(ChosenLine(results, flags)) << '\n';
  return kExitOk;
}

}  // namespace hunch

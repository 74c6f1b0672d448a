// hunch bench: methods interleaved on the same prompts, each output compared with plain decoding's.
//
// Methods take turns on one prompt, in an order that rotates, so that a machine that slows down or
// speeds up meets all of them alike.
#include <fmt/format.h>

#include <algorithm>

#include "apps/bench_html.h"
#include "apps/bench_report.h"
#include "apps/bench_run.h"
#include "apps/commands.h"
#include "apps/generate.h"
#include "apps/progress.h"
#include "apps/write_file.h"

namespace hunch {
namespace {

constexpr int kWarmUpTokens = 8;

Error Wrong(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

// The configurations to run, none first.
Result<std::vector<SpeculativeConfig>> PlanMethods(const Flags& flags) {
  if (flags.methods && flags.speculation.method) {
    return Wrong("--speculative-config: leave out \"method\"; --methods names them");
  }
  const MethodChoice one = {.method = flags.speculation.method.value_or(DraftMethod::Auto())};
  std::vector<MethodChoice> choices = flags.methods.value_or(std::vector{one});
  std::erase(choices, MethodChoice{});
  choices.insert(choices.begin(), MethodChoice{});
  std::vector<SpeculativeConfig> methods;
  for (const MethodChoice& choice : choices) {
    methods.push_back(ConfigOf(flags.speculation, choice));
    if (const Status status = CheckMethod(methods.back()); !status.ok()) {
      return Wrong(fmt::format("--speculative-config: {}", status.error().message));
    }
  }
  return methods;
}

class Bench {
 public:
  Bench(const Flags& flags, Context& context)
      : flags_(flags), context_(context), params_(flags.Sampling(kBenchMaxTokens)) {}

  Status Load() {
    HUNCH_ASSIGN_OR_RETURN(results_.methods, PlanMethods(flags_));
    std::vector<BenchPrompt> prompts;
    for (const std::string& file : flags_.prompt_files) {
      HUNCH_ASSIGN_OR_RETURN(auto more, ReadPromptsFile(file, flags_.per_category));
      prompts.insert(prompts.end(), more.begin(), more.end());
    }
    HUNCH_ASSIGN_OR_RETURN(llm_, LoadModelFor(flags_, results_.methods, context_));
    results_.threads = llm_->threads();
    results_.compared = params_.acceptance == AcceptanceRule::kCoupled;
    results_.max_model_len = llm_->max_model_len();
    HUNCH_ASSIGN_OR_RETURN(EncodedPrompts encoded,
                           EncodePrompts(*llm_, flags_, params_.max_tokens, std::move(prompts)));
    results_.prompts = std::move(encoded.prompts);
    results_.skipped = std::move(encoded.skipped);
    return Ok{};
  }

  Status Run() {
    HUNCH_RETURN_IF_ERROR(RunRounds());
    results_.pass_times = llm_->pass_times();
    return Ok{};
  }

  const BenchResults& results() const { return results_; }

 private:
  Status RunRounds() {
    HUNCH_RETURN_IF_ERROR(WarmUp());
    const size_t prompts = results_.prompts.size();
    const auto total = static_cast<int64_t>(prompts * results_.methods.size()) * flags_.rounds;
    Progress progress(context_.console, total);
    std::vector<RequestOutput> references(prompts);  // none's first answers
    for (int round = 0; round < flags_.rounds; ++round) {
      for (size_t prompt = 0; prompt < prompts; ++prompt) {
        HUNCH_ASSIGN_OR_RETURN(const bool finished,
                               RunGroup(round, prompt, references[prompt], progress));
        if (!finished) {
          results_.interrupted = true;
          return Ok{};
        }
      }
    }
    return Ok{};
  }

  // The first requests meet cold pages and caches, which is no method's merit or fault.
  Status WarmUp() {
    SamplingParams params = params_;
    params.max_tokens = kWarmUpTokens;
    for (const SpeculativeConfig& method : results_.methods) {
      HUNCH_RETURN_IF_ERROR(
          llm_->Generate(results_.prompts[0].tokens, params, method, KeepGoing()));
    }
    return Ok{};
  }

  // False: interrupted, and the group is left out.
  Result<bool> RunGroup(int round, size_t prompt, RequestOutput& reference, Progress& progress) {
    const size_t methods = results_.methods.size();
    std::vector<RequestOutput> outputs(methods);
    BenchGroup group{round, prompt, std::vector<BenchSample>(methods)};
    for (size_t turn = 0; turn < methods; ++turn) {
      const size_t method = (turn + static_cast<size_t>(round) + prompt) % methods;
      HUNCH_ASSIGN_OR_RETURN(TimedAnswer answer,
                             TimeAnswer(*llm_, results_.prompts[prompt].tokens, params_,
                                        results_.methods[method], KeepGoing(), context_));
      if (context_.interrupts.Pending() != 0) return false;
      group.samples[method] = std::move(answer.sample);
      outputs[method] = std::move(answer.output);
      progress.Advance(fmt::format("round {}/{}", round + 1, flags_.rounds));
    }
    results_.groups.push_back(std::move(group));
    // The other rules promise a distribution, not a text.
    if (!results_.compared) return true;
    if (round == 0) reference = outputs[0];
    for (size_t method = 0; method < methods; ++method) {
      const auto difference = CompareOutputs(reference, outputs[method]);
      if (!difference) continue;
      results_.mismatches.push_back({method, prompt, round, *difference});
      progress.Print("differs: " + MismatchLine(results_, results_.mismatches.back()));
    }
    return true;
  }

  OnText KeepGoing() {
    return [this](const TextDelta&) { return context_.interrupts.Pending() == 0; };
  }

  const Flags& flags_;
  Context& context_;
  const SamplingParams params_;
  std::unique_ptr<Llm> llm_;
  BenchResults results_;
};

}  // namespace

Result<int> BenchCommand(const Flags& flags, Context& context) {
  if (flags.prompt_files.empty()) return Wrong("no prompts; give --prompts FILE.jsonl");
  if (!flags.report_file.empty()) HUNCH_RETURN_IF_ERROR(CheckWritable(flags.report_file));
  Bench bench(flags, context);
  HUNCH_RETURN_IF_ERROR(bench.Load());
  std::ostream& err = context.console.err;
  const BenchResults& results = bench.results();
  if (!results.skipped.empty()) {
    err << SkippedLine(results.skipped.size(), results.prompts.size(), results.max_model_len);
  }
  context.interrupts.Arm();
  HUNCH_RETURN_IF_ERROR(bench.Run());
  if (results.groups.empty()) {
    err << "hunch bench: interrupted before the first result\n";
    return InterruptedExit(context);
  }
  if (flags.json) {
    context.console.out << DumpJson(BenchJson(results, flags)) << '\n';
  } else {
    context.console.out << BenchTable(results);
  }
  if (!flags.report_file.empty()) {
    HUNCH_RETURN_IF_ERROR(WriteFile(flags.report_file, BenchHtml(results, flags)));
  }
  return results.mismatches.empty() ? InterruptedExit(context) : kExitDifferent;
}

}  // namespace hunch

#include "session/request_set.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"
#include "draft/forced.h"
#include "session/text_side.h"

namespace hunch {
namespace {

SpeculationStats StatsOf(const DraftMethod& method, const EngineStats& stats) {
  return {.method = method,
          .drafts = stats.drafts,
          .draft_tokens = stats.draft_tokens,
          .accepted_tokens = stats.accepted_tokens,
          .accepted_per_position = stats.accepted_per_position,
          .places = stats.places,
          .target_passes = stats.target_passes,
          .decode_tokens = stats.decode_tokens,
          .drafter_errors = stats.drafter_errors,
          .fallbacks = stats.fallbacks,
          .probes = stats.probes,
          .draft_seconds = stats.draft_seconds,
          .target_seconds = stats.target_seconds,
          .plain_seconds = stats.plain_seconds,
          .drafters = stats.drafters};
}

// What the grammar forces is guessed first, where anything is guessed.
void Constrain(const CompiledGrammar& grammar, int vocab_size,
               std::vector<std::unique_ptr<Drafter>>& drafters) {
  if (drafters.empty()) return;
  for (const auto& drafter : drafters) {
    if (drafter->model_drafter() != nullptr) drafter->Constrain(grammar.Start());
  }
  drafters.insert(drafters.begin(), std::make_unique<ForcedDrafter>(grammar.Start(), vocab_size));
}

}  // namespace

struct RequestSet::Running {
  Running(const Tokenizer& tokenizer, const TextRequest& request, OnText text_to, OnDone done_to)
      : params(request.params),
        method(request.speculation.method),
        cache_salt(request.speculation.cache_salt),
        keeps_speculation(request.own_speculation || request.background),
        on_text(std::move(text_to)),
        on_done(std::move(done_to)),
        text(tokenizer, params, on_text) {}

  RequestOutput Finish(const EngineResult& result) {
    RequestOutput output;
    text.Finish(output);
    output.prompt_tokens = static_cast<int64_t>(result.prompt_tokens);
    output.cached_tokens = result.stats.cached_tokens;
    output.finish_reason = result.reason;
    output.speculation = StatsOf(method, result.stats);
    return output;
  }

  RequestId id = 0;
  SamplingParams params;
  DraftMethod method;
  std::string cache_salt;
  std::shared_ptr<const CompiledGrammar> grammar;  // null: any text
  bool keeps_speculation;
  bool swaps = false;            // before the next step
  std::vector<DraftSides> used;  // by its drafters, the earlier ones too
  OnText on_text;
  OnDone on_done;
  TextSide text;
};

RequestSet::RequestSet(Engine& engine, const Tokenizer& tokenizer, Grammars& grammars)
    : engine_(engine), tokenizer_(tokenizer), grammars_(grammars) {}
// Drafters go before what they use.
RequestSet::~RequestSet() {
  for (const auto& running : running_) engine_.Cancel(running->id);
}

Result<RequestId> RequestSet::Add(TextRequest request, const DraftParts& parts, OnText on_text,
                                  OnDone on_done) {
  auto running =
      std::make_unique<Running>(tokenizer_, request, std::move(on_text), std::move(on_done));
  EngineRequest submitted;
  HUNCH_ASSIGN_OR_RETURN(submitted.drafters, MakeDrafters(request.speculation, parts));
  running->used.push_back(parts.drafts);
  submitted.background = request.background;
  if (!request.background && request.speculation.cache_salt.empty()) submitted.sink = sink_;
  if (request.params.structured_output != nullptr) {
    HUNCH_ASSIGN_OR_RETURN(running->grammar, grammars_.Compile(*request.params.structured_output));
    submitted.constraint = running->grammar->Start();
    Constrain(*running->grammar, tokenizer_.vocab_size(), submitted.drafters);
  }
  submitted.prompt = std::move(request.prompt);
  submitted.params = std::move(request.params);
  submitted.budget = BudgetFor(request.speculation);
  submitted.cache_salt = std::make_shared<const std::string>(request.speculation.cache_salt);
  submitted.filter = [text = &running->text](const CommittedToken& token) {
    return text->OnToken(token);
  };
  if (request.trace_steps) {
    submitted.watch = [text = &running->text](const StepView& view) { text->OnStep(view); };
  }
  if (submitted.params.prompt_logprobs >= 0) {
    submitted.prompt_watch = [text = &running->text](std::vector<TokenChoice> choices) {
      text->OnPrompt(std::move(choices));
    };
  }
  HUNCH_ASSIGN_OR_RETURN(running->id, engine_.Submit(std::move(submitted)));
  running_.push_back(std::move(running));
  return running_.back()->id;
}

void RequestSet::Swap(SpeculativeConfig config, DraftParts parts) {
  for (const auto& running : running_) running->swaps = !running->keeps_speculation;
  swap_.emplace(PendingSwap{std::move(config), std::move(parts)});
}

void RequestSet::SwapPending() {
  if (!swap_) return;
  for (const auto& running : running_) {
    if (!std::exchange(running->swaps, false)) continue;
    const Status swapped = SwapOne(*running);
    if (swapped.ok()) continue;
    LogWarning(fmt::format("request {} goes on guessing as before: {}", running->id,
                           swapped.error().message));
  }
  swap_.reset();
}

Status RequestSet::SwapOne(Running& running) {
  const SpeculativeConfig config = WithCacheSalt(swap_->config, running.cache_salt);
  HUNCH_ASSIGN_OR_RETURN(auto drafters, MakeDrafters(config, swap_->parts));
  if (running.grammar != nullptr) {
    Constrain(*running.grammar, tokenizer_.vocab_size(), drafters);
  }
  running.used.push_back(swap_->parts.drafts);
  engine_.SetDrafters(running.id, std::move(drafters), BudgetFor(config));
  running.method = config.method;
  return Ok{};
}

bool RequestSet::Step() {
  SwapPending();
  if (running_.empty()) return false;
  for (const auto& running : running_) {
    if (!running->text.StillWanted()) engine_.Cancel(running->id);
  }
  engine_.Step();
  for (size_t i = 0; i < running_.size();) {
    const std::unique_ptr<EngineResult> result = engine_.Take(running_[i]->id);
    if (result == nullptr) {
      ++i;
      continue;
    }
    const std::unique_ptr<Running> over = std::move(running_[i]);
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    over->on_done(over->Finish(*result));
  }
  return true;
}

}  // namespace hunch

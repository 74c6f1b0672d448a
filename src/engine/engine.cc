#include "engine/engine.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/stopwatch.h"
#include "engine/check_request.h"
#include "engine/prompt_logprobs.h"
#include "sampling/top_tokens.h"

namespace hunch {
namespace {

// What passes with prompts take by the row is learned from each with this weight, but for the ends
// of prompts: with few rows it is mostly the reading of the weights.
constexpr double kPromptRate = 0.25;

bool Contains(const std::vector<TokenId>& list, TokenId token) {
  return std::find(list.begin(), list.end(), token) != list.end();
}

}  // namespace

struct Engine::Active {
  Active(BlockPool& pool, EngineRequest&& from, int vocab_size, const std::vector<TokenId>& ends)
      : request(std::move(from)),
        tokens(request.prompt),
        table(pool),
        constraint(MakeCursor(request, vocab_size)),
        sampler(request.params, vocab_size, request.prompt.size(), ends, constraint.get()),
        noise(request.params.seed, request.params.choice, RatioNoise::kVerify) {
    const int count = request.params.prompt_logprobs;
    if (count >= 0) prompt_logprobs.emplace(request.prompt, count, vocab_size);
  }

  static std::unique_ptr<ConstraintCursor> MakeCursor(EngineRequest& request, int vocab_size) {
    if (request.constraint == nullptr) return nullptr;
    return std::make_unique<ConstraintCursor>(std::move(request.constraint), vocab_size,
                                              request.prompt.size());
  }
  int output_tokens() const { return static_cast<int>(tokens.size() - request.prompt.size()); }
  bool over() const { return reason != FinishReason::kNone; }
  bool describes_prompt() const { return prompt_logprobs && !prompt_logprobs->complete(); }
  // The first position whose row gets logits.
  int logits_from() const {
    return describes_prompt() ? prompt_logprobs->next_row() : static_cast<int>(tokens.size()) - 1;
  }
  int row_limit() const {
    if (request.background) return 1;
    return describes_prompt() ? PromptLogprobs::kMostRows : SequenceSnapshot::kNoLimit;
  }

  RequestId id = 0;
  EngineRequest request;
  std::vector<TokenId> tokens;                   // committed: prompt and output
  BlockTable table;                              // KV of a prefix of them
  std::unique_ptr<ConstraintCursor> constraint;  // null: none
  Sampler sampler;
  RatioNoise noise;                               // of the rules ratio and block
  std::optional<PromptLogprobs> prompt_logprobs;  // until they are handed over
  std::optional<Speculator> speculator;           // none: plain decoding
  int tokens_left = 0;
  bool looked_up = false;  // in the prefix cache, since it last had no KV
  FinishReason reason = FinishReason::kNone;
  EngineStats stats;
};

struct Engine::Work {
  Active* sequence = nullptr;
  StepShare share = {};
  DraftTree tree;
  std::optional<Reservation> reservation;
  Verdict verdict;
  std::vector<TokenId> tokens;   // [rows]: unread committed tokens, then the tree's nodes
  std::vector<int32_t> parents;  // [rows], or empty for a chain
  SequenceRows rows;
};

Engine::Engine(Target& target, EngineOptions options)
    : target_(target),
      options_(std::move(options)),
      limits_{std::min(target.limits().max_rows, options_.max_num_batched_tokens),
              target.limits().max_logit_rows},
      pool_(options_.kv_blocks, options_.share_prefixes),
      budget_(CostCurve(options_.pass_times)),
      prompt_row_seconds_(budget_.PassSeconds(kFewestPromptRows) / kFewestPromptRows) {
  // Otherwise a lone sequence could be preempted for ever.
  HUNCH_CHECK_GE(pool_.capacity() * kSlotsPerBlock, options_.max_model_len);
  HUNCH_CHECK_GT(limits_.max_rows, 0);
  options_.max_num_seqs = std::min(options_.max_num_seqs, MostRunning(limits_));
}
Engine::~Engine() = default;

Result<Engine::RequestId> Engine::Submit(EngineRequest request) {
  HUNCH_RETURN_IF_ERROR(CheckRequest(request, options_));
  const int prompt = static_cast<int>(request.prompt.size());
  auto sequence =
      std::make_unique<Active>(pool_, std::move(request), options_.vocab_size, options_.end_tokens);
  sequence->id = next_id_++;
  sequence->tokens.reserve(options_.max_model_len);
  sequence->table.Expect(options_.max_model_len);
  sequence->tokens_left = options_.max_model_len - prompt;
  sequence->stats.accepted_per_position.reserve(target_.limits().max_logit_rows);
  const SamplingParams& params = sequence->request.params;
  if (params.max_tokens >= 0) {
    sequence->tokens_left = std::min(sequence->tokens_left, params.max_tokens);
  }
  if (sequence->tokens_left == 0) sequence->reason = FinishReason::kLength;
  const RequestId id = sequence->id;
  active_.push_back(std::move(sequence));
  EngineRequest& submitted = active_.back()->request;
  if (!submitted.drafters.empty()) {
    SetDrafters(id, std::move(submitted.drafters), submitted.budget);
  }
  return id;
}

void Engine::SetDrafters(RequestId id, std::vector<std::unique_ptr<Drafter>> drafters,
                         const BudgetOptions& budget) {
  Active& sequence = Find(id);
  if (sequence.over()) return;
  RetireDrafters(sequence);
  if (drafters.empty()) return;
  sequence.speculator.emplace(budget_, budget, options_.vocab_size, std::move(drafters));
  sequence.speculator->Start(sequence.request.prompt, sequence.request.params,
                             sequence.constraint.get());
}

// Fills running_.
void Engine::PickRunning() {
  running_.clear();
  needs_.clear();
  const bool background = std::all_of(active_.begin(), active_.end(), [](const auto& sequence) {
    return sequence->over() || sequence->request.background;
  });
  for (const auto& sequence : active_) {
    if (sequence->over() || sequence->request.background != background) continue;
    running_.push_back(sequence.get());
    const int slots = static_cast<int>(sequence->tokens.size()) + 1;
    needs_.push_back({static_cast<int>(sequence->table.blocks().size()), BlocksFor(slots)});
  }
  int admitted = Admit(needs_, pool_.free_blocks(), options_.max_num_seqs);
  if (!background && admitted < static_cast<int>(running_.size()) && ReleaseBackground()) {
    admitted = Admit(needs_, pool_.free_blocks(), options_.max_num_seqs);
  }
  running_.resize(admitted);
  for (Active* sequence : running_) {
    // A row that is not read gives no logits.
    if (background || sequence->describes_prompt()) continue;
    if (sequence->table.committed() == 0) AdoptPrefix(*sequence);
  }
}

// Who runs and has no KV takes over what the cache knows of its tokens: a new request's, or what a
// preempted one left behind.
void Engine::AdoptPrefix(Active& sequence) {
  if (!std::exchange(sequence.looked_up, true)) {
    totals_.cache_queries += static_cast<int64_t>(sequence.tokens.size());
  }
  const auto tokens = std::span<const TokenId>(sequence.tokens).first(TokensToAdopt(sequence));
  const int found = sequence.table.Adopt(tokens, sequence.request.cache_salt);
  if (sequence.output_tokens() == 0) sequence.stats.cached_tokens += found;
  totals_.cache_hits += found;
}

// What is adopted has no hidden states. Where a drafter misses those of one block only, that block
// is read again: a few rows for a drafter that knows everything. It changes no text.
size_t Engine::TokensToAdopt(const Active& sequence) const {
  if (!sequence.speculator) return sequence.tokens.size();
  const int found = sequence.table.Known(sequence.tokens, sequence.request.cache_salt);
  const int known = sequence.speculator->KnownHidden(sequence.tokens);
  const bool near = known < found && found - known <= kSlotsPerBlock;
  return near ? static_cast<size_t>(known) + 1 : sequence.tokens.size();
}

// Those in the background give their blocks back and read their tokens again later. False: they
// hold none.
bool Engine::ReleaseBackground() {
  bool released = false;
  for (const auto& sequence : active_) {
    if (!sequence->request.background || sequence->table.blocks().empty()) continue;
    sequence->table.Clear();
    released = true;
  }
  return released;
}

bool Engine::Step() {
  PickRunning();
  snapshots_.clear();
  for (Active* sequence : running_) {
    // The first token is the prompt's pass, even where the prompt's last chunk is one row.
    const bool may_guess = sequence->speculator && sequence->output_tokens() > 0;
    const GuessSwitches switches = may_guess ? sequence->speculator->switches() : GuessSwitches{};
    const int nodes = may_guess ? sequence->speculator->max_nodes() : 0;
    snapshots_.push_back(
        {.tokens = static_cast<int>(sequence->tokens.size()),
         .in_kv = sequence->table.committed(),
         .tokens_left = sequence->tokens_left,
         .draft_limit = AllowedGuesses(switches, nodes, static_cast<int>(running_.size())),
         .draft_length = DraftLength(switches),
         .row_limit = sequence->row_limit(),
         .logits_from = sequence->logits_from()});
  }
  if (running_.empty()) return false;
  limits_.max_prompt_rows = PromptRowsBesideDecoding(prompt_row_seconds_);
  PlanStep(snapshots_, limits_, plan_);
  HUNCH_CHECK(!plan_.empty());
  const Stopwatch step;
  Propose();
  const double propose_seconds = step.Seconds();
  ReserveAndLayAll();
  if (batch_.empty()) {
    Preempt();
    return true;
  }
  ++totals_.steps;
  hidden_.Begin();
  for (const Work* work : taking_part_) {
    if (work->sequence->speculator) hidden_.Add(*work->sequence->speculator);
    if (HiddenSink* const sink = work->sequence->request.sink) hidden_.Add(*sink);
  }
  const std::span<const HiddenTap> taps = hidden_.Taps();
  const Stopwatch watch;
  Logits logits = target_.ForwardTapped(batch_, taps);
  const double seconds = watch.Seconds();
  const bool decoding = std::all_of(taking_part_.begin(), taking_part_.end(), [](const Work* work) {
    return work->share.logits && work->share.rows == 1;
  });
  if (decoding) {
    budget_.ObservePass(rows_, seconds);
  } else if (rows_ >= kFewestPromptRows) {
    prompt_row_seconds_ += kPromptRate * (seconds / rows_ - prompt_row_seconds_);
  }
  step_tokens_ = 0;
  for (Work* work : taking_part_) {
    const size_t rows = work->rows.tokens.size() - work->rows.logits_from;
    AcceptAndCommit(*work, logits, seconds);
    logits.rows += rows * target_.vocab();
    logits.maxima += rows * LogitBlocks(target_.vocab());
  }
  if (!taps.empty()) HandHidden();
  for (const Work* work : taking_part_) {
    if (work->sequence->over()) Release(*work->sequence);
  }
  if (decoding) CountGoodput(propose_seconds + seconds);
  return true;
}

void Engine::Propose() {
  while (works_.size() < plan_.size()) {
    works_.push_back(std::make_unique<Work>());
    works_.back()->verdict.prefix.reserve(options_.max_model_len);
  }
  parts_.clear();
  int rows = 0, tokens = 0;
  for (size_t i = 0; i < plan_.size(); ++i) {
    Work& work = *works_[i];
    work.sequence = running_[plan_[i].sequence];
    work.share = plan_[i];
    work.tree.clear();
    rows += work.share.rows;
    tokens += work.share.logits;
    if (work.share.max_nodes == 0) {
      if (work.sequence->speculator) work.sequence->speculator->SitOut();
      continue;
    }
    parts_.push_back({&*work.sequence->speculator,
                      work.sequence->tokens,
                      {work.share.max_nodes, work.share.max_depth},
                      &work.tree});
  }
  if (!parts_.empty()) proposer_.Propose(parts_, {rows, static_cast<double>(tokens)});
}

void Engine::ReserveAndLayAll() {
  batch_.clear();
  taking_part_.clear();
  rows_ = 0;
  for (size_t i = 0; i < plan_.size(); ++i) {
    Work& work = *works_[i];
    if (!ReserveAndLay(work)) continue;
    rows_ += work.share.rows + work.tree.size();
    batch_.push_back(work.rows);
    taking_part_.push_back(&work);
  }
}

// Lays out the rows of one sequence: unread committed tokens as a chain, then the tree.
bool Engine::ReserveAndLay(Work& work) {
  Active& sequence = *work.sequence;
  const int unread = work.share.rows;
  work.reservation.reset();
  if (auto reserved = sequence.table.Reserve(unread + work.tree.size())) {
    work.reservation.emplace(std::move(*reserved));
  } else {
    work.tree.clear();  // no room to guess: try plainly
    auto plain = sequence.table.Reserve(unread);
    if (!plain) return false;
    work.reservation.emplace(std::move(*plain));
  }
  const int first = sequence.table.committed();
  work.tokens.assign(sequence.tokens.begin() + first, sequence.tokens.begin() + first + unread);
  work.tokens.insert(work.tokens.end(), work.tree.tokens.begin(), work.tree.tokens.end());
  work.parents.clear();
  for (int row = 0; row < unread; ++row) work.parents.push_back(row - 1);
  for (int32_t parent : work.tree.parents) work.parents.push_back(unread + parent);
  work.rows = {.blocks = sequence.table.blocks(),
               .committed = first,
               .tokens = work.tokens,
               .parents = work.parents,
               .logits_from = std::min(sequence.logits_from() - first, unread)};
  return true;
}

// Out of KV memory: the youngest sequence gives its blocks back and is read again later. Its text
// does not change, since a logits row depends on the prefix alone.
void Engine::Preempt() {
  if (ReleaseBackground()) return;
  for (auto it = active_.rbegin(); it != active_.rend(); ++it) {
    if ((*it)->table.blocks().empty()) continue;
    (*it)->table.Clear();
    (*it)->looked_up = false;
    ++totals_.preemptions;
    return;
  }
  HUNCH_CHECK(false) << "no sequence fits into " << pool_.capacity() << " KV blocks";
}

// Takes the rows of the prompt's tokens that have logits, but for the last token's, and returns
// what is behind them.
Logits Engine::DescribePrompt(const Work& work, Logits logits) {
  Active& sequence = *work.sequence;
  for (int row = work.rows.logits_from; row < work.share.rows && sequence.describes_prompt();
       ++row) {
    sequence.prompt_logprobs->Add(logits.rows);
    logits.rows += target_.vocab();
    logits.maxima += LogitBlocks(target_.vocab());
  }
  return logits;
}

void Engine::AcceptAndCommit(Work& work, const Logits& pass_logits, double pass_seconds) {
  Active& sequence = *work.sequence;
  const int unread = work.share.rows;
  const Logits logits = DescribePrompt(work, pass_logits);
  if (!work.share.logits) {
    work.reservation->Commit(unread);
    work.reservation.reset();
    ShareKv(sequence);
    return;
  }
  const LogitsRows rows = {logits.rows, target_.vocab(), options_.vocab_size, logits.maxima,
                           LogitBlocks(target_.vocab())};
  Verdict& verdict = work.verdict;
  Accept(work, rows);
  if (sequence.prompt_logprobs) {
    if (sequence.request.prompt_watch) {
      sequence.request.prompt_watch(sequence.prompt_logprobs->Take());
    }
    sequence.prompt_logprobs.reset();
  }
  if (sequence.request.watch && sequence.output_tokens() > 0) Show(work, pass_seconds);

  const size_t before = sequence.tokens.size();
  for (size_t i = 0; i < verdict.tokens.size() && !sequence.over(); ++i) {
    CommitToken(sequence, verdict.tokens[i], i < verdict.path.size());
  }
  const size_t committed = sequence.tokens.size() - before;
  verdict.path.resize(std::min(committed, verdict.path.size()));
  const int base = sequence.table.committed() + unread;
  for (size_t i = 0; i < verdict.path.size(); ++i) {
    target_.MoveSlot(sequence.table.blocks(), base + verdict.path[i], base + static_cast<int>(i));
  }
  work.reservation->Commit(unread + static_cast<int>(verdict.path.size()));
  work.reservation.reset();
  ShareKv(sequence);

  Count(work, committed, pass_seconds);
  Learn(work, rows, committed, pass_seconds);
}

void Engine::ShareKv(Active& sequence) {
  if (sequence.request.background) return;
  sequence.table.Share(sequence.tokens, sequence.request.cache_salt);
}

// Only now that all is committed: a commit filter may have swapped or cancelled any sequence.
void Engine::HandHidden() {
  int first_row = 0;
  for (const Work* work : taking_part_) {
    Active& sequence = *work->sequence;
    FindCommittedRows(*work, first_row);
    if (!committed_rows_.empty()) {
      const HiddenRows rows = {sequence.tokens, work->rows.committed, committed_rows_,
                               sequence.over()};
      if (sequence.speculator) hidden_.Hand(*sequence.speculator, rows);
      if (HiddenSink* const sink = sequence.request.sink) {
        sink->Take({sequence.id, static_cast<int>(sequence.request.prompt.size()),
                    sequence.request.params.temperature},
                   rows);
      }
    }
    first_row += static_cast<int>(work->rows.tokens.size());
  }
  hidden_.Read();
}

// committed_rows_: the rows of the pass whose next token is committed too. `first_row` is the
// sequence's first.
void Engine::FindCommittedRows(const Work& work, int first_row) {
  const int unread = work.share.rows;
  committed_rows_.clear();
  for (int row = 0; row < unread; ++row) committed_rows_.push_back(first_row + row);
  if (work.share.logits) {
    for (const int32_t node : work.verdict.path) {
      committed_rows_.push_back(first_row + unread + node);
    }
  }
  const size_t followed = work.sequence->tokens.size() - 1 - work.rows.committed;
  if (committed_rows_.size() > followed) committed_rows_.resize(followed);
}

void Engine::Accept(Work& work, const LogitsRows& rows) {
  Active& sequence = *work.sequence;
  const AcceptanceRule rule = sequence.request.params.acceptance;
  if (rule == AcceptanceRule::kCoupled) {
    AcceptCoupled(work.tree, rows, sequence.tokens, sequence.sampler, work.verdict);
  } else {
    ratio_.Accept(rule, work.tree, rows, sequence.tokens, sequence.sampler, sequence.noise,
                  work.verdict);
  }
}

void Engine::Show(const Work& work, double pass_seconds) const {
  const Active& sequence = *work.sequence;
  const auto tokens = static_cast<int>(work.verdict.tokens.size());
  sequence.request.watch({.guesses = work.tree,
                          .accepted = work.verdict.path,
                          .drafters = sequence.speculator ? sequence.speculator->stats()
                                                          : std::span<const DrafterStats>(),
                          .tokens = tokens,
                          .pass_seconds = pass_seconds,
                          .plain_seconds = tokens * budget_.PassSeconds(1)});
}

void Engine::Count(const Work& work, size_t committed, double pass_seconds) {
  Active& sequence = *work.sequence;
  step_tokens_ += static_cast<int64_t>(committed);
  if (sequence.request.background) return;
  const bool first = sequence.output_tokens() == static_cast<int>(committed);
  counter_.Count(
      {.tree = work.tree,
       .path = work.verdict.path,
       .committed = static_cast<int64_t>(committed),
       .first_of_prompt = first ? static_cast<int64_t>(sequence.request.prompt.size()) : 0,
       .may_guess = sequence.speculator.has_value(),
       .pass_seconds = pass_seconds,
       .plain_seconds = committed * budget_.PassSeconds(1)},
      sequence.stats, totals_);
}

void Engine::CountGoodput(double step_seconds) {
  if (taking_part_.front()->sequence->request.background) return;
  const auto sequences = static_cast<int>(taking_part_.size());
  totals_.goodput_seconds += step_seconds;
  totals_.goodput_plain_seconds +=
      static_cast<double>(step_tokens_) * budget_.PassSeconds(sequences) / sequences;
}

// Tells the drafters and the budget what became of the step.
void Engine::Learn(const Work& work, const LogitsRows& rows, size_t committed,
                   double pass_seconds) {
  Active& sequence = *work.sequence;
  if (!sequence.speculator) return;
  const int wanted = sequence.speculator->top_wanted();
  top_.resize(static_cast<size_t>(work.tree.size() + 1) * wanted);
  for (int row = 0; wanted > 0 && row <= work.tree.size(); ++row) {
    TopTokens(rows.row(row), wanted, std::span(top_).subspan(row * wanted, wanted));
  }
  const Observation step = {work.tree, work.verdict.path, sequence.tokens, top_, wanted};
  sequence.speculator->Learn(step, std::span(sequence.tokens).last(committed), rows_, pass_seconds);
}

// Gives back what a finished sequence holds, all but its result.
void Engine::Release(Active& sequence) {
  RetireDrafters(sequence);
  sequence.table.Clear();
}

void Engine::RetireDrafters(Active& sequence) {
  if (!sequence.speculator) return;
  sequence.speculator->Forget();
  EngineStats& stats = sequence.stats;
  for (const DrafterStats& drafter : sequence.speculator->stats()) {
    stats.drafter_errors += drafter.failures;
    stats.draft_seconds += drafter.seconds;
    totals_.drafter_errors += drafter.failures;
    totals_.draft_seconds += drafter.seconds;
    stats.drafters.push_back(drafter);
  }
  stats.fallbacks += sequence.speculator->budget().fallbacks();
  totals_.fallbacks += sequence.speculator->budget().fallbacks();
  stats.probes += sequence.speculator->budget().probes();
  sequence.speculator.reset();
}

// The one stop machine. The earliest event wins; at the same token, a stop wins over a limit.
void Engine::CommitToken(Active& sequence, const TokenChoice& choice, bool guessed) {
  const SamplingParams& params = sequence.request.params;
  ConstraintCursor* const constraint = sequence.constraint.get();
  if (choice.token < 0) {
    // Nothing may follow: a model without end tokens is done, any other is stuck.
    const bool done = constraint != nullptr && constraint->CompleteAfter(sequence.tokens);
    sequence.reason = done ? FinishReason::kStop : FinishReason::kStuck;
    return;
  }
  const bool ignores_end = params.ignore_eos && constraint == nullptr;
  const bool ends_turn = (!ignores_end && Contains(options_.end_tokens, choice.token)) ||
                         std::find(params.stop_token_ids.begin(), params.stop_token_ids.end(),
                                   choice.token) != params.stop_token_ids.end();
  FilterAnswer answer = FilterAnswer::kGoOn;
  if (sequence.request.filter) answer = sequence.request.filter({choice, guessed, ends_turn});
  sequence.tokens.push_back(choice.token);
  --sequence.tokens_left;
  if (answer == FilterAnswer::kCancel) {
    sequence.reason = FinishReason::kCancelled;
  } else if (ends_turn || answer == FilterAnswer::kStop) {
    sequence.reason = FinishReason::kStop;
  } else if (sequence.tokens_left == 0) {
    sequence.reason = FinishReason::kLength;
  }
}

Engine::Active& Engine::Find(RequestId id) {
  const auto it = std::find_if(active_.begin(), active_.end(),
                               [&](const auto& sequence) { return sequence->id == id; });
  HUNCH_CHECK(it != active_.end()) << "request " << id << " is unknown";
  return **it;
}

std::unique_ptr<EngineResult> Engine::Take(RequestId id) {
  Active& sequence = Find(id);
  if (!sequence.over()) return nullptr;
  auto result = std::make_unique<EngineResult>();
  result->tokens = std::move(sequence.tokens);
  result->prompt_tokens = sequence.request.prompt.size();
  result->reason = sequence.reason;
  result->stats = std::move(sequence.stats);
  std::erase_if(active_, [&](const auto& other) { return other.get() == &sequence; });
  return result;
}

void Engine::Cancel(RequestId id) {
  for (auto& sequence : active_) {
    if (sequence->id != id || sequence->over()) continue;
    sequence->reason = FinishReason::kCancelled;
    Release(*sequence);
  }
}

}  // namespace hunch

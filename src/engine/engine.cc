#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/log.h"

namespace hunch {
namespace {

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

bool Contains(const std::vector<TokenId>& list, TokenId token) {
  return std::find(list.begin(), list.end(), token) != list.end();
}

}  // namespace

struct Engine::Active {
  Active(BlockPool& pool, EngineRequest&& from, int vocab_size, const std::vector<TokenId>& ends)
      : request(std::move(from)),
        tokens(request.prompt),
        table(pool),
        sampler(request.params, vocab_size, request.prompt.size(), ends) {}

  int output_tokens() const { return static_cast<int>(tokens.size() - request.prompt.size()); }
  bool over() const { return reason != FinishReason::kNone; }

  RequestId id = 0;
  EngineRequest request;
  std::vector<TokenId> tokens;  // committed: prompt and output
  BlockTable table;             // KV of a prefix of them
  Sampler sampler;
  int tokens_left = 0;
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
    : target_(target), options_(std::move(options)), pool_(options_.kv_blocks) {
  // Otherwise a lone sequence could be preempted for ever.
  HUNCH_CHECK_GE(pool_.capacity() * kSlotsPerBlock, options_.max_model_len);
}
Engine::~Engine() = default;

Result<Engine::RequestId> Engine::Submit(EngineRequest request) {
  HUNCH_RETURN_IF_ERROR(ValidateSamplingParams(request.params, options_.vocab_size));
  const int prompt = static_cast<int>(request.prompt.size());
  if (prompt == 0) {
    return Error{ErrorCode::kInvalidArgument, "the prompt is empty: give at least one token"};
  }
  if (prompt >= options_.max_model_len) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("the prompt has {} tokens, which leaves no room in the context of {}: "
                             "shorten it or raise max_model_len",
                             prompt, options_.max_model_len)};
  }
  for (TokenId token : request.prompt) {
    if (token < 0 || token >= options_.vocab_size) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("prompt token {} is outside the vocabulary of {}", token,
                               options_.vocab_size)};
    }
  }
  auto sequence =
      std::make_unique<Active>(pool_, std::move(request), options_.vocab_size, options_.end_tokens);
  sequence->id = next_id_++;
  sequence->tokens.reserve(options_.max_model_len);
  sequence->table.Expect(options_.max_model_len);
  sequence->tokens_left = options_.max_model_len - prompt;
  const SamplingParams& params = sequence->request.params;
  if (params.max_tokens >= 0) {
    sequence->tokens_left = std::min(sequence->tokens_left, params.max_tokens);
  }
  if (Drafter* drafter = sequence->request.drafter.get()) {
    const Status started = drafter->Start(sequence->tokens, params);
    if (!started.ok()) DropDrafter(*sequence, started.error().message);
  }
  if (sequence->tokens_left == 0) sequence->reason = FinishReason::kLength;
  const RequestId id = sequence->id;
  active_.push_back(std::move(sequence));
  return id;
}

bool Engine::Step() {
  running_.clear();
  snapshots_.clear();
  for (const auto& sequence : active_) {
    if (sequence->over()) continue;
    running_.push_back(sequence.get());
    // The first token is the prompt's pass, even where the prompt's last chunk is one row.
    const bool may_guess = sequence->request.drafter && sequence->output_tokens() > 0;
    const int guesses = may_guess ? sequence->request.num_speculative_tokens : 0;
    snapshots_.push_back({static_cast<int>(sequence->tokens.size()), sequence->table.committed(),
                          sequence->tokens_left, guesses});
  }
  if (running_.empty()) return false;
  const ForwardLimits& limits = target_.limits();
  PlanStep(snapshots_, {limits.max_rows, limits.max_logit_rows}, plan_);
  HUNCH_CHECK(!plan_.empty());

  while (works_.size() < plan_.size()) {
    works_.push_back(std::make_unique<Work>());
    works_.back()->verdict.prefix.reserve(options_.max_model_len);
  }
  batch_.clear();
  taking_part_.clear();
  for (size_t i = 0; i < plan_.size(); ++i) {
    Work& work = *works_[i];
    work.sequence = running_[plan_[i].sequence];
    work.share = plan_[i];
    Propose(*work.sequence, work.share, work.tree);
    if (!ReserveAndLay(work)) continue;
    batch_.push_back(work.rows);
    taking_part_.push_back(&work);
  }
  if (batch_.empty()) {
    Preempt();
    return true;
  }
  Logits logits = target_.Forward(batch_);
  for (Work* work : taking_part_) {
    const size_t rows = work->rows.tokens.size() - work->rows.logits_from;
    AcceptAndCommit(*work, logits);
    logits.rows += rows * target_.vocab();
    logits.maxima += rows * LogitBlocks(target_.vocab());
  }
  return true;
}

void Engine::Propose(Active& sequence, const StepShare& share, DraftTree& tree) {
  tree.clear();
  if (sequence.request.drafter == nullptr || share.max_nodes == 0) return;
  const auto start = std::chrono::steady_clock::now();
  const ProposeLimits limits = {
      .max_nodes = share.max_nodes, .max_depth = share.max_depth, .min_path_probability = 0};
  const Status proposed = sequence.request.drafter->Propose(sequence.tokens, limits, tree);
  sequence.stats.draft_seconds += SecondsSince(start);
  if (!proposed.ok()) {
    DropDrafter(sequence, proposed.error().message);
    tree.clear();
  }
  trimmer_.Trim(limits.max_nodes, limits.max_depth, options_.vocab_size, tree);
}

void Engine::DropDrafter(Active& sequence, const std::string& why) {
  LogWarning(
      fmt::format("drafter {} failed and is off for this request, whose text does not change: {}",
                  sequence.request.drafter->name(), why));
  ++sequence.stats.drafter_errors;
  sequence.request.drafter->Forget();
  sequence.request.drafter.reset();
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
               .logits_from = work.share.logits ? unread - 1 : unread};
  return true;
}

// Out of KV memory: the youngest sequence gives its blocks back and is read again later. Its text
// does not change, since a logits row depends on the prefix alone.
void Engine::Preempt() {
  for (auto it = active_.rbegin(); it != active_.rend(); ++it) {
    if ((*it)->table.blocks().empty()) continue;
    (*it)->table.Clear();
    return;
  }
  HUNCH_CHECK(false) << "no sequence fits into " << pool_.capacity() << " KV blocks";
}

void Engine::AcceptAndCommit(Work& work, const Logits& logits) {
  Active& sequence = *work.sequence;
  const int unread = work.share.rows;
  if (!work.share.logits) {
    work.reservation->Commit(unread);
    work.reservation.reset();
    return;
  }
  const LogitsRows rows = {logits.rows, target_.vocab(), options_.vocab_size, logits.maxima,
                           LogitBlocks(target_.vocab())};
  Verdict& verdict = work.verdict;
  AcceptCoupled(work.tree, rows, sequence.tokens, sequence.sampler, verdict);
  const bool first_token = sequence.output_tokens() == 0;

  const size_t before = sequence.tokens.size();
  for (size_t i = 0; i < verdict.tokens.size() && !sequence.over(); ++i) {
    CommitToken(sequence, verdict.tokens[i], i < verdict.path.size());
  }
  const size_t committed = sequence.tokens.size() - before;
  const size_t kept = std::min(committed, verdict.path.size());
  const int base = sequence.table.committed() + unread;
  for (size_t i = 0; i < kept; ++i) {
    target_.MoveSlot(sequence.table.blocks(), base + verdict.path[i], base + static_cast<int>(i));
  }
  work.reservation->Commit(unread + static_cast<int>(kept));
  work.reservation.reset();

  EngineStats& stats = sequence.stats;
  if (!first_token) {
    ++stats.target_passes;
    stats.decode_tokens += committed;
  }
  if (!work.tree.empty()) {
    ++stats.drafts;
    stats.draft_tokens += work.tree.size();
    stats.accepted_tokens += kept;
    if (stats.accepted_per_position.size() < kept) stats.accepted_per_position.resize(kept);
    for (size_t depth = 0; depth < kept; ++depth) ++stats.accepted_per_position[depth];
  }
  if (sequence.over()) {
    Release(sequence);
  } else if (sequence.request.drafter) {
    sequence.request.drafter->Observe({work.tree, verdict.path, sequence.tokens});
  }
}

// Gives back what a finished sequence holds, all but its result.
void Engine::Release(Active& sequence) {
  if (sequence.request.drafter) {
    sequence.stats.drafter_errors += sequence.request.drafter->part_failures();
    sequence.request.drafter->Forget();
  }
  sequence.table.Clear();
}

// The one stop machine. The earliest event wins; at the same token, a stop wins over a limit.
void Engine::CommitToken(Active& sequence, const TokenChoice& choice, bool guessed) {
  const SamplingParams& params = sequence.request.params;
  const bool ends_turn = (!params.ignore_eos && Contains(options_.end_tokens, choice.token)) ||
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

std::unique_ptr<EngineResult> Engine::Take(RequestId id) {
  const auto it = std::find_if(active_.begin(), active_.end(),
                               [&](const auto& sequence) { return sequence->id == id; });
  HUNCH_CHECK(it != active_.end()) << "request " << id << " is unknown";
  Active& sequence = **it;
  if (!sequence.over()) return nullptr;
  auto result = std::make_unique<EngineResult>();
  result->tokens = std::move(sequence.tokens);
  result->prompt_tokens = sequence.request.prompt.size();
  result->reason = sequence.reason;
  result->stats = std::move(sequence.stats);
  active_.erase(it);
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

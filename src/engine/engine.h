// Engine: owns the sequences and runs the step, a transaction over all of them:
//   plan -> propose -> reserve -> forward -> accept -> commit.
// Everything before commit may fail, and failure is a value; commit cannot. A rejected guess is not
// an error: its slots are released. Tokens are committed one at a time through one stop machine, so
// nothing can run past an end token that sits inside an accepted path. Confined to one thread.
#ifndef HUNCH_ENGINE_ENGINE_H_
#define HUNCH_ENGINE_ENGINE_H_

#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "draft/drafter.h"
#include "engine/engine_stats.h"
#include "engine/engine_totals.h"
#include "engine/hidden_feed.h"
#include "engine/speculator.h"
#include "engine/step_counter.h"
#include "engine/step_proposer.h"
#include "hunch/sampling_params.h"
#include "kv/block_pool.h"
#include "model/target.h"
#include "sampling/sampler.h"
#include "sched/admission.h"
#include "sched/budget.h"
#include "sched/plan.h"
#include "seq/types.h"
#include "verify/accept.h"
#include "verify/accept_ratio.h"

namespace hunch {

// What the text side says of a token that is about to be committed.
enum class FilterAnswer {
  kGoOn,
  kStop,    // it completes a stop string: the last token of the sequence
  kCancel,  // nobody wants what would follow it
};
struct CommittedToken {
  const TokenChoice& choice;
  bool guessed;    // an accepted guess, rather than the target's own addition
  bool ends_turn;  // an end token or a stop token: it carries no text
};
using CommitFilter = std::function<FilterAnswer(const CommittedToken&)>;

// What a pass that decodes did for one sequence. It lives as long as the call.
struct StepView {
  const DraftTree& guesses;                // empty: none
  std::span<const int32_t> accepted;       // of them, from the root on
  std::span<const DrafterStats> drafters;  // by DraftTree::sources
  int tokens;                              // that it gives: the accepted guesses and one more
  double pass_seconds;                     // of all sequences in it
  double plain_seconds;                    // what one-row passes for its tokens would have taken
};
using StepWatch = std::function<void(const StepView&)>;
// Takes the logprobs of a prompt: [prompt tokens].
using PromptWatch = std::function<void(std::vector<TokenChoice>)>;

struct EngineRequest {
  std::vector<TokenId> prompt;
  SamplingParams params;
  std::vector<std::unique_ptr<Drafter>> drafters;  // none: plain decoding, no drafting code runs
  BudgetOptions budget;
  CommitFilter filter;  // may be empty
  StepWatch watch;      // may be empty; called before a step's tokens are committed
  // May be empty; with prompt_logprobs it is called once, before the first token is committed.
  PromptWatch prompt_watch;
  // What the output must obey; null: nothing. Under one an end token always ends it.
  std::unique_ptr<TokenConstraint> constraint;
  // Only requests with the same salt share KV; null is one, too.
  PrefixCache::Salt cache_salt;
  // Who is given its rows, beside drafters; null: nobody. It must outlive the request.
  HiddenSink* sink = nullptr;
  // An audit: it runs while no other does, its prompt is read one row a pass, and it takes nothing
  // from the prefix cache and adds nothing. The engine's totals do not count it.
  bool background = false;
};

struct EngineResult {
  std::vector<TokenId> tokens;  // prompt and output
  size_t prompt_tokens = 0;
  FinishReason reason = FinishReason::kNone;
  EngineStats stats;
};

struct EngineOptions {
  int vocab_size = 0;           // the tokenizer's: padding ids past it are never chosen or proposed
  int max_model_len = 0;        // tokens of a sequence, prompt and output
  int kv_blocks = 0;            // of the target's cache
  bool share_prefixes = false;  // sequences that begin alike share KV; no bit changes
  // Sequences that run at once, and rows of a pass, if that is less than the target allows. The
  // other sequences wait. Each of those that run needs a row of a pass: fewer rows, fewer of them.
  int max_num_seqs = std::numeric_limits<int>::max();
  int max_num_batched_tokens = std::numeric_limits<int>::max();
  std::vector<TokenId> end_tokens;
  std::vector<PassTime> pass_times = {{1, 1e-3}};  // what passes cost, as far as it is known
};

class Engine {
 public:
  using RequestId = int64_t;

  // `target` must outlive the engine.
  Engine(Target& target, EngineOptions options);
  ~Engine();

  // Errors: parameters out of range, an empty prompt or one that leaves no room in max_model_len.
  Result<RequestId> Submit(EngineRequest request);
  // One step for every sequence that the plan takes in; false when there is nothing to do.
  bool Step();
  // The result of a finished request, once; nullptr while it runs.
  std::unique_ptr<EngineResult> Take(RequestId id);
  void Cancel(RequestId id);
  // Replaces the drafters of a running request, between two steps; none: it goes on plainly. Its
  // text does not change. CHECKs that the request is known; nothing happens when it is over.
  void SetDrafters(RequestId id, std::vector<std::unique_ptr<Drafter>> drafters,
                   const BudgetOptions& budget);

  // What a pass of a drafter's own model takes of one of the target's, before any was timed.
  void SetDrafterShare(std::string_view name, double share) {
    budget_.SetDrafterShare(budget_.DrafterId(name), share);
  }

  const Budget& budget() const { return budget_; }
  const BlockPool& pool() const { return pool_; }
  const EngineTotals& totals() const { return totals_; }

 private:
  struct Active;
  struct Work;  // one sequence's part in the current step

  Active& Find(RequestId id);
  void PickRunning();
  void AdoptPrefix(Active& sequence);
  size_t TokensToAdopt(const Active& sequence) const;
  bool ReleaseBackground();
  void Propose();
  void ReserveAndLayAll();
  bool ReserveAndLay(Work& work);
  void Preempt();
  Logits DescribePrompt(const Work& work, Logits logits);
  void AcceptAndCommit(Work& work, const Logits& logits, double pass_seconds);
  void ShareKv(Active& sequence);
  void HandHidden();
  void FindCommittedRows(const Work& work, int first_row);
  void Accept(Work& work, const LogitsRows& rows);
  void Show(const Work& work, double pass_seconds) const;
  void Count(const Work& work, size_t committed, double pass_seconds);
  void CountGoodput(double step_seconds);
  void Learn(const Work& work, const LogitsRows& rows, size_t committed, double pass_seconds);
  void RetireDrafters(Active& sequence);
  void Release(Active& sequence);
  // Appends one token through the stop machine.
  void CommitToken(Active& sequence, const TokenChoice& choice, bool guessed);

  Target& target_;
  EngineOptions options_;
  StepLimits limits_;
  BlockPool pool_;
  Budget budget_;
  double prompt_row_seconds_;  // of a pass with prompts, by the row
  RequestId next_id_ = 1;
  std::vector<std::unique_ptr<Active>> active_;  // in order of arrival

  // Scratch of a step, kept so that a step allocates nothing.
  std::vector<Active*> running_;
  std::vector<KvNeed> needs_;                // of running_
  std::vector<SequenceSnapshot> snapshots_;  // of running_
  std::vector<StepShare> plan_;
  std::vector<std::unique_ptr<Work>> works_;  // [plan_], and some for larger plans
  std::vector<StepProposer::Part> parts_;     // of those that may guess
  StepProposer proposer_;
  std::vector<SequenceRows> batch_;  // of those that found room
  std::vector<Work*> taking_part_;   // [batch_]
  int rows_ = 0;                     // of the pass
  EngineTotals totals_;
  RatioAcceptor ratio_;
  StepCounter counter_;
  int64_t step_tokens_ = 0;   // that the step has committed
  std::vector<TokenId> top_;  // [rows of a sequence][its top_wanted]
  HiddenFeed hidden_;
  std::vector<int32_t> committed_rows_;  // of a sequence, as rows of the pass
};

}  // namespace hunch

#endif  // HUNCH_ENGINE_ENGINE_H_

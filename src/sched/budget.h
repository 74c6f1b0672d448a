// The speculation budget: what a step may spend on guessing, so that tokens come sooner and never
// later. Costs are measured as the engine runs (pass_cost.h), the worth of guesses is learned from
// what the target says (calibration.h), nodes are taken while they add tokens per second
// (tree_choice.h), and the clock has the last word (plain_guard.h). It changes no text.
//
// Of one thread. A step allocates nothing once trees have had their size.
#ifndef HUNCH_SCHED_BUDGET_H_
#define HUNCH_SCHED_BUDGET_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sched/calibration.h"
#include "sched/cost_curve.h"
#include "sched/pass_cost.h"
#include "sched/plain_guard.h"
#include "sched/plan.h"
#include "sched/tree_choice.h"
#include "seq/types.h"

namespace hunch {

enum class Policy {
  kGoodput,    // as many guesses as make tokens per second largest
  kFixed,      // always fixed_nodes
  kThreshold,  // by mean acceptance: over 0.8 eight, over 0.6 five, else two; for comparison
};

struct BudgetOptions {
  Policy policy = Policy::kGoodput;
  int fixed_nodes = 4;              // kFixed: nodes of every tree
  float acceptance_warning = 0.5f;  // 0: never
  GuessSwitches switches = {};
  // The work bound: a drafter whose proposals take longer than this and than ten plain passes, the
  // passes of its model left out, is dropped.
  double most_call_seconds = 0.25;
};

// What a step's guessing cost one drafter of one sequence. A pass that several sequences share is
// paid for by rows.
struct DrafterWork {
  double seconds = 0;
  int passes = 0;          // of a model of its own that it took part in
  int reading_passes = 0;  // of those, passes that gave it no logits
  double saved = 0;        // seconds more that it would have taken alone
};

// What is known engine-wide: what a pass costs and a drafter, and how often guesses are right. The
// memory of one drafter's name is kept for good; names are few.
class Budget {
 public:
  explicit Budget(CostCurve measured);

  double PassSeconds(int rows) const { return cost_.Seconds(rows); }
  // Every decode pass, plain ones too; rows: those that gave logits.
  void ObservePass(int rows, double seconds) { cost_.Observe(rows, seconds); }

  // A drafter's number engine-wide: requests with other lists of drafters share what is known.
  int DrafterId(std::string_view name);
  // What a pass of a drafter's own model costs, and reading one token of a prompt, if known ahead.
  // It is corrected by what its work takes.
  void SetDrafterCost(int id, double pass_seconds, double prompt_token_seconds);
  // Where no time is known yet: its pass, as a share of the target's pass of one row (about that of
  // the bytes of their weights).
  void SetDrafterShare(int id, double pass_share);
  // Of a pass for one sequence alone; 0 until known.
  double DraftPassSeconds(int id) const { return drafters_[id].pass_seconds; }
  // Adds a pass of a drafter's model, of `rows` rows, `own` of them for this drafter.
  void AddPass(int own, int rows, double seconds, DrafterWork& work) const;

 private:
  friend class SequenceBudget;
  struct DrafterCost {
    std::string name;
    double call_seconds = 0;          // of a proposal without passes
    double pass_seconds = 0;          // for one sequence alone; 0: not known
    double pass_share = 0.5;          // taken until then
    double prompt_token_seconds = 0;  // 0: not known
  };
  void ObserveDrafter(int id, double seconds, int passes);
  void ObserveReading(int id, double seconds, int tokens);
  // With a guess at what is not known yet. sharers: sequences that share the pass and its price.
  double PassGuess(int id, int sharers) const;
  double ReadingGuess(int id, int tokens) const;

  PassCost cost_;
  SharedCalibration calibration_;
  std::vector<DrafterCost> drafters_;
};

// Of one sequence. A step calls DraftLimits, then WorthAsking for each drafter with a model of its
// own (after the free ones have guessed), then Prune, and after the commit Learn.
class SequenceBudget {
 public:
  // drafters: the names of the request's, in order; DraftTree::sources are indices into them.
  SequenceBudget(Budget& shared, const BudgetOptions& options,
                 const std::vector<std::string_view>& drafters, float temperature);
  // Without names: drafters of the same index share what is known.
  SequenceBudget(Budget& shared, const BudgetOptions& options, int drafters, float temperature);

  // What the drafters may do this step; max_nodes 0: draft nothing.
  struct Limits {
    int max_nodes;
    int max_depth;
  };
  // base: what the pass has without this tree.
  Limits DraftLimits(const BaseRows& base, int max_nodes, int max_depth);

  // Optional: a drafter that has not read some of the committed tokens yet does so when it is first
  // asked, which has to be earned back. Called before WorthAsking while that is so.
  void ExpectStart(int drafter, int unread, int output_tokens, int tokens_left);
  // Drafters that make model passes are asked after the free ones: is it worth asking, given what
  // the others guessed (raw beliefs, sources)? Below which path probability does one more of its
  // passes not pay, and after how many has its belief been trusted enough?
  struct Ask {
    bool worth;
    float min_path_probability;
    int max_depth;
    // Of the whole tree, as expected: its nodes, and those of them that will be accepted.
    int nodes;
    double tokens;
  };
  // sharers: sequences that share its passes, this one among them.
  Ask WorthAsking(int drafter, const DraftTree& so_far, const BaseRows& base, int sharers = 1);
  // The same question without consequences, and no probe: to find out who would share.
  Ask WouldAsk(int drafter, const DraftTree& so_far, const BaseRows& base, int sharers);

  // Replaces each node's belief by the calibrated one and cuts the tree to the nodes worth
  // verifying (parents stay before children). Empty: the plain path. The other policies leave
  // beliefs alone: their trees depend on no clock and on nothing learned.
  void Prune(const BaseRows& base, DraftTree& tree);

  // Guesses of the pruned tree that are expected to be accepted, as far as costs were looked at.
  double expected_tokens() const { return chosen_tokens_; }

  // After the commit of a step. proposed: each drafter's own tree with its raw beliefs and its
  // index as the source, before they were merged (a node on which two agree is a guess of both); or
  // the one tree before Prune where there is one drafter; empty when nothing was proposed.
  // verified: nodes that rode in the pass; new_tokens: what was committed, accepted guesses first,
  // the target's own last; rows: of the whole pass, the verified nodes among them; work:
  // [drafters], or empty when nobody was asked.
  void Learn(std::span<const DraftTree> proposed, int verified, std::span<const TokenId> new_tokens,
             int rows, double pass_seconds, std::span<const DrafterWork> work);
  void Learn(const DraftTree& proposed, int verified, std::span<const TokenId> new_tokens, int rows,
             double pass_seconds, std::span<const DrafterWork> work) {
    Learn({&proposed, 1}, verified, new_tokens, rows, pass_seconds, work);
  }

  // True once, when acceptance has stayed under the warning for long; the caller logs it.
  bool TakeWarning();

  // For monitoring.
  bool on_plain_path() const { return guard_.holds(); }
  int64_t fallbacks() const { return guard_.fallbacks(); }
  int64_t probes() const { return guard_.returns() + probes_; }
  double predicted_tokens() const { return predicted_tokens_; }  // sum over steps with a tree
  // Accepted guesses over the depth of the verified tree, of late; 0 before the first tree.
  double mean_acceptance() const { return trees_ == 0 ? 0 : mean_acceptance_; }

 private:
  // How many tokens are still to come nobody knows: as many as have come, or this.
  static constexpr int kShortAnswer = 64;
  // Of one drafter of this sequence.
  struct Asking {
    int id = 0;
    bool started = false;
    int unread = 0;                      // tokens that its model has to read before it can guess
    double tokens_ahead = kShortAnswer;  // over which that has to be earned back
    int wait = 4;                        // steps until it may be probed
    int next_wait = 8;
    bool probed = false;  // this step
    bool tested = false;  // this step
    int right = 0;        // this step: the depth to which its guesses came true
    // Seconds that asking it seemed to save in the steps since it was last asked.
    double missed = 0;
    int weighed = 0;  // steps in which that was looked at
  };
  // What one more drafter promises.
  struct Promise {
    double rate_without, rate;  // tokens per second
    double tokens;              // of the step
    int passes;
    int others_nodes;      // of theirs, worth a row
    double others_tokens;  // that those bring
    // Seconds, over doing without for as many tokens.
    double saving() const { return tokens * (1 / rate_without - 1 / rate); }
  };
  Promise PromiseOf(int drafter, const DraftTree& so_far, const BaseRows& base, double pass);
  // By how much a promise must exceed the rate of the batch without it: `margin` is of this
  // sequence's share, which is all that its guesses can change.
  static double OverPlain(double margin, const BaseRows& base) { return 1 + margin / base.tokens; }
  bool EarnsItsReading(const Asking& asking, const Promise& promise, const BaseRows& base) const;
  bool Pays(const Asking& asking, const Promise& promise, const BaseRows& base) const;
  Ask AskFor(int drafter, const Promise& promise, const BaseRows& base, double pass) const;
  bool MayProbe(Asking& asking, const BaseRows& base, double pass);
  void TestGuesses(const DraftTree& proposed, std::span<const TokenId> new_tokens);
  double LearnDrafters(std::span<const TokenId> new_tokens, std::span<const DrafterWork> work);
  double LearnPasses(Asking& asking, const DrafterWork& work);
  void JudgeProbe(int drafter);
  SequenceBudget(Budget& shared, const BudgetOptions& options, float temperature,
                 std::vector<int> ids);
  void LearnAcceptance(size_t accepted);
  int ConstantNodes() const;

  Budget& shared_;
  BudgetOptions options_;
  std::vector<Asking> asking_;  // [drafters]
  Calibration calibration_;
  PlainGuard guard_;

  // This step.
  Limits limits_ = {0, 0};
  double spent_ = 0;             // expected seconds of guessing, of the drafters asked so far
  int chosen_depth_ = 0;         // of the pruned tree
  double chosen_tokens_ = 0;     // expected of it
  RankedTree ranked_;            // scratch
  std::vector<double> covered_;  // [kMostDepth + 1]: by depth; scratch
  std::vector<int8_t> on_path_;  // [nodes of a tree]; scratch

  int trees_in_a_row_ = 0;
  double plain_seconds_ = 0;  // that the tokens so far would have taken plainly
  double probe_seconds_ = 0;
  int64_t probes_ = 0;
  int64_t trees_ = 0;
  double mean_acceptance_ = 0;
  double predicted_tokens_ = 0;
  bool warned_ = false, warning_ = false;
};

}  // namespace hunch

#endif  // HUNCH_SCHED_BUDGET_H_

// Who takes part in a step and with how many rows. Pure functions over snapshots: policy is tested
// with numbers, without a model.
#ifndef HUNCH_SCHED_PLAN_H_
#define HUNCH_SCHED_PLAN_H_

#include <span>
#include <vector>

namespace hunch {

struct SequenceSnapshot {
  int tokens;       // committed tokens, prompt included
  int in_kv;        // of those, how many the KV cache holds; < tokens
  int tokens_left;  // that the request may still add (max_tokens, context); >= 1
  int draft_limit;  // guesses that its configuration allows; 0: no drafter
};

struct StepLimits {
  int max_rows;
  int max_logit_rows;
};

// What one sequence does in a step.
struct StepShare {
  int sequence;   // index into the snapshots
  int rows;       // committed tokens to read into the KV cache
  bool logits;    // they reach the end of the sequence, so a token comes out
  int max_nodes;  // guesses that may ride along
  int max_depth;
};

// Decoding sequences come first, in order, so that a long prompt does not stall them; prompts share
// the rows that are left, in order. Guesses are given to sequences with one unread token only: a
// prompt's first token is not guessed at. They share fairly what the others' rows leave of the
// limits. `plan` is overwritten; its memory is used again.
void PlanStep(std::span<const SequenceSnapshot> sequences, const StepLimits& limits,
              std::vector<StepShare>& plan);

}  // namespace hunch

#endif  // HUNCH_SCHED_PLAN_H_

// Who takes part in a step and with how many rows. Pure functions over snapshots: policy is tested
// with numbers, without a model.
#ifndef HUNCH_SCHED_PLAN_H_
#define HUNCH_SCHED_PLAN_H_

#include <limits>
#include <span>
#include <vector>

namespace hunch {

struct SequenceSnapshot {
  static constexpr int kNoLimit = std::numeric_limits<int>::max();

  int tokens;       // committed tokens, prompt included
  int in_kv;        // of those, how many the KV cache holds; < tokens
  int tokens_left;  // that the request may still add (max_tokens, context); >= 1
  int draft_limit;  // guesses that its configuration allows; 0: no drafter
  // The tokens, guesses included, up to which its configuration allows any.
  int draft_length = kNoLimit;
  int row_limit = kNoLimit;  // of its unread tokens, how many a pass may read; >= 1
  // The rows of its tokens from this one on get logits, and the last one's in any case.
  int logits_from = kNoLimit;
};

// Of a pass: all of its rows (prompt chunks, single tokens and guesses), and those that get logits.
struct StepLimits {
  int max_rows;
  int max_logit_rows;
  // Of prompts, in a pass that somebody decodes in; >= 1.
  int max_prompt_rows = std::numeric_limits<int>::max();
};

// On Zen 3, where it binds, reading the weights is then a sixth of a pass.
inline constexpr int kFewestPromptRows = 16;

// StepLimits::max_prompt_rows: as many as take a quarter of a second, which is how long whoever
// decodes may wait for a token; but not so few that reading the weights for them is a good part of
// the pass.
int PromptRowsBesideDecoding(double seconds_a_row);

// How many sequences may run so that each can have its own row in every pass.
int MostRunning(const StepLimits& limits);

// What a request's configuration sets over whatever the budget thinks. 0: not set.
struct GuessSwitches {
  int disable_by_batch_size = 0;  // no guesses while more sequences run
  int max_model_len = 0;          // no guesses past so many tokens of prompt and output
};
// The guesses that are left of `limit` while `running` sequences run.
int AllowedGuesses(const GuessSwitches& switches, int limit, int running);
// SequenceSnapshot::draft_length.
int DraftLength(const GuessSwitches& switches);

// What one sequence does in a step.
struct StepShare {
  int sequence;   // index into the snapshots
  int rows;       // committed tokens to read into the KV cache
  bool logits;    // they reach the end of the sequence, so a token comes out
  int max_nodes;  // guesses that may ride along
  int max_depth;
};

// Every decoding sequence has its row, so that a long prompt stalls none: a token takes it one
// pass, and no pass has more than max_rows rows, max_prompt_rows of them of prompts. Half of what
// is then free, and at least a row, belongs to prompts, so that neither decoders nor their guesses
// stall one. Prompts are read in order of arrival, the next once the one before is read whole:
// nobody is overtaken, and a prompt that waits can still take over what the ones before it put into
// the prefix cache.
//
// Guesses are given to sequences with one unread token only: a prompt's first token is not guessed
// at. They share fairly what the others' rows leave of the limits; what they leave goes to prompts.
// At most MostRunning sequences. `plan` is overwritten; its memory is used again.
void PlanStep(std::span<const SequenceSnapshot> sequences, const StepLimits& limits,
              std::vector<StepShare>& plan);

}  // namespace hunch

#endif  // HUNCH_SCHED_PLAN_H_

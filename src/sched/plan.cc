#include "sched/plan.h"

#include <algorithm>

namespace hunch {
namespace {

constexpr double kPromptSeconds = 0.25;
constexpr int kPromptRowsStep = 8;  // rows that a kernel takes at once

bool IsDecoding(const SequenceSnapshot& sequence) { return sequence.tokens - sequence.in_kv == 1; }

// How deep its guesses may go. The target adds one token of its own to whatever is accepted.
int MostDepth(const SequenceSnapshot& sequence) {
  return std::min(sequence.tokens_left - 1, sequence.draft_length - sequence.tokens);
}

// Guesses that it could use.
int WantedNodes(const SequenceSnapshot& sequence) {
  return IsDecoding(sequence) && MostDepth(sequence) > 0 ? sequence.draft_limit : 0;
}

// What a pass may read of it.
int UnreadRows(const SequenceSnapshot& sequence) {
  return std::min(sequence.tokens - sequence.in_kv, sequence.row_limit);
}

// The first unread token whose row gets logits.
int FirstWithLogits(const SequenceSnapshot& sequence) {
  return std::max(sequence.in_kv, std::min(sequence.logits_from, sequence.tokens - 1));
}

// Of its next `rows` rows, those that get logits.
int LogitRows(const SequenceSnapshot& sequence, int rows) {
  return std::max(sequence.in_kv + rows - FirstWithLogits(sequence), 0);
}

// How many guesses each sequence may have at most, so that `free` rows are shared fairly: what some
// do not want goes to the others. The first `extra` of those who want more get one more.
struct FairShare {
  int most = 0;
  int extra = 0;
};
FairShare ShareRows(std::span<const SequenceSnapshot> sequences, int free) {
  FairShare share;
  while (true) {
    const int wanting = static_cast<int>(
        std::count_if(sequences.begin(), sequences.end(),
                      [&](const SequenceSnapshot& s) { return WantedNodes(s) > share.most; }));
    if (wanting == 0) return share;
    if (wanting > free) {
      share.extra = std::max(free, 0);
      return share;
    }
    free -= wanting;
    ++share.most;
  }
}

// What is kept for prompts, at most `most`, of the rows that the decoding sequences' own leave
// free, and the logits rows that all of those could want.
StepLimits KeptForPrompts(std::span<const SequenceSnapshot> sequences, int free_rows, int most) {
  StepLimits kept = {0, 0};
  const int available = std::min(free_rows, most);
  int left = available;
  for (const SequenceSnapshot& sequence : sequences) {
    if (IsDecoding(sequence) || left <= 0) continue;
    const int rows = std::min(UnreadRows(sequence), left);
    left -= rows;
    kept.max_logit_rows += LogitRows(sequence, rows);
  }
  kept.max_rows = std::min(available - left, (free_rows + 1) / 2);
  return kept;
}

}  // namespace

int PromptRowsBesideDecoding(double seconds_a_row) {
  const double rows = kPromptSeconds / std::max(seconds_a_row, 1e-9);
  return std::max(static_cast<int>(rows) / kPromptRowsStep * kPromptRowsStep, kFewestPromptRows);
}

int MostRunning(const StepLimits& limits) {
  return std::min(limits.max_rows, limits.max_logit_rows);
}

int AllowedGuesses(const GuessSwitches& switches, int limit, int running) {
  const int most = switches.disable_by_batch_size;
  return most > 0 && running > most ? 0 : limit;
}

int DraftLength(const GuessSwitches& switches) {
  return switches.max_model_len > 0 ? switches.max_model_len : SequenceSnapshot::kNoLimit;
}

void PlanStep(std::span<const SequenceSnapshot> sequences, const StepLimits& limits,
              std::vector<StepShare>& plan) {
  plan.clear();
  int rows_left = limits.max_rows;
  int logits_left = limits.max_logit_rows;
  const auto add = [&](int index, int rows, int nodes, int depth) {
    const bool logits = sequences[index].in_kv + rows == sequences[index].tokens;
    plan.push_back({index, rows, logits, nodes, depth});
    rows_left -= rows + nodes;
    logits_left -= LogitRows(sequences[index], rows) + nodes;
  };
  const int count = static_cast<int>(sequences.size());
  const int decoding =
      static_cast<int>(std::count_if(sequences.begin(), sequences.end(), IsDecoding));
  int prompts_left = decoding > 0 ? limits.max_prompt_rows : limits.max_rows;
  const StepLimits kept =
      KeptForPrompts(sequences, std::max(rows_left - decoding, 0), prompts_left);
  FairShare share = ShareRows(
      sequences, std::min(rows_left - kept.max_rows, logits_left - kept.max_logit_rows) - decoding);
  for (int i = 0; i < count && rows_left > 0 && logits_left > 0; ++i) {
    if (!IsDecoding(sequences[i])) continue;
    const int wanted = WantedNodes(sequences[i]);
    const bool one_more = wanted > share.most && share.extra-- > 0;
    add(i, 1, std::min(wanted, share.most) + one_more, std::max(MostDepth(sequences[i]), 0));
  }
  for (int i = 0; i < count && rows_left > 0 && prompts_left > 0; ++i) {
    if (IsDecoding(sequences[i])) continue;
    const int without_logits = FirstWithLogits(sequences[i]) - sequences[i].in_kv;
    const int wanted = UnreadRows(sequences[i]);
    const int rows = std::min({wanted, rows_left, prompts_left, without_logits + logits_left});
    if (rows > 0) add(i, rows, 0, 0);
    prompts_left -= rows;
    if (rows < wanted) break;
  }
}

}  // namespace hunch

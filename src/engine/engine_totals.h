// What an engine has done since it was made: a value, written after each commit.
#ifndef HUNCH_ENGINE_ENGINE_TOTALS_H_
#define HUNCH_ENGINE_ENGINE_TOTALS_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace hunch {

struct EngineTotals {
  static constexpr int kDepths = 16;  // the last one stands for all beyond
  // Classes of budgets: the nodes of a step's tree, at most so many and more than the class before.
  static constexpr std::array<int, 8> kBudgetBounds = {0, 1, 2, 4, 8, 16, 32, 64};
  static size_t BudgetClass(int nodes) {
    size_t index = 0;
    while (index + 1 < kBudgetBounds.size() && nodes > kBudgetBounds[index]) ++index;
    return index;
  }

  int64_t steps = 0;
  int64_t prompt_tokens = 0;      // of requests that have got their first token
  int64_t generation_tokens = 0;  // committed
  int64_t preemptions = 0;
  int64_t cache_queries = 0;  // tokens that the prefix cache was asked for
  int64_t cache_hits = 0;     // of those, how many it had

  int64_t drafts = 0;           // trees verified
  int64_t draft_tokens = 0;     // their nodes
  int64_t accepted_tokens = 0;  // of those, how many were committed
  std::array<int64_t, kDepths> accepted_per_position = {};
  // Steps of decoding sequences that have drafters, by the budget chosen.
  std::array<int64_t, kBudgetBounds.size()> budgets = {};
  int64_t drafter_errors = 0;
  int64_t fallbacks = 0;

  double target_seconds = 0;  // of passes that decoded, each counted for every sequence in it
  double draft_seconds = 0;
  double plain_seconds = 0;  // what one-row passes for the same tokens would have taken

  // Of steps in which every sequence decoded: what they took with their guessing, and what steps of
  // the same sequences without guesses would have taken for the same tokens.
  double goodput_seconds = 0;
  double goodput_plain_seconds = 0;

  // How many times as fast as the same batch without guesses; 0 before the first such step.
  double goodput_ratio() const {
    return goodput_seconds > 0 ? goodput_plain_seconds / goodput_seconds : 0.0;
  }
};

}  // namespace hunch

#endif  // HUNCH_ENGINE_ENGINE_TOTALS_H_

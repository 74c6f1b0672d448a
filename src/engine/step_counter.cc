#include "engine/step_counter.h"

#include <algorithm>

namespace hunch {

void StepCounter::Count(const CountedStep& step, EngineStats& stats, EngineTotals& totals) {
  totals.generation_tokens += step.committed;
  if (step.first_of_prompt > 0) {
    totals.prompt_tokens += step.first_of_prompt;
  } else {
    ++stats.target_passes;
    stats.decode_tokens += step.committed;
    stats.target_seconds += step.pass_seconds;
    stats.plain_seconds += step.plain_seconds;
    totals.target_seconds += step.pass_seconds;
    totals.plain_seconds += step.plain_seconds;
    if (step.may_guess) ++totals.budgets[EngineTotals::BudgetClass(step.tree.size())];
  }
  if (!step.tree.empty()) CountTree(step, stats, totals);
}

void StepCounter::CountTree(const CountedStep& step, EngineStats& stats, EngineTotals& totals) {
  const auto nodes = static_cast<int64_t>(step.tree.size());
  const auto accepted = static_cast<int64_t>(step.path.size());
  ++stats.drafts;
  stats.draft_tokens += nodes;
  stats.accepted_tokens += accepted;
  std::vector<int64_t>& positions = stats.accepted_per_position;
  if (positions.size() < step.path.size()) positions.resize(step.path.size());
  for (size_t depth = 0; depth < step.path.size(); ++depth) ++positions[depth];
  places_.Count(step.tree, step.path, stats.places);
  ++totals.drafts;
  totals.draft_tokens += nodes;
  totals.accepted_tokens += accepted;
  for (size_t depth = 0; depth < step.path.size(); ++depth) {
    ++totals.accepted_per_position[std::min<size_t>(depth, EngineTotals::kDepths - 1)];
  }
}

}  // namespace hunch

// The speculation budget over recorded text, on a simulated machine: a pass takes what a cost curve
// says, with noise if wanted. No clock, no model: the same result every time.
#ifndef HUNCH_TESTS_SUPPORT_BUDGET_SIMULATION_H_
#define HUNCH_TESTS_SUPPORT_BUDGET_SIMULATION_H_

#include <string>
#include <vector>

#include "sched/budget.h"
#include "sched/cost_curve.h"
#include "support/acceptance_trace.h"

namespace hunch {

struct SimulatedMachine {
  std::string name;
  std::vector<PassTime> curve;  // what passes take
  double draft_pass = 0;        // seconds, of a drafter that has a model
  double draft_token = 0;       // that such a model takes to read a token it was not asked about
  double free_call = 20e-6;     // a proposal of any other drafter
  double noise = 0;             // standard deviation of a pass, as a share
  double hiccups = 0;           // the share of passes that take three times as long
  std::vector<PassTime> believed = {};  // the curve that the budget is given; empty: the true one
};

// Two cores of an AVX-512 VNNI machine and of an AVX2 one, Qwen2.5-Coder-1.5B with a 0.5B draft
// (bench/results; docs/decisions/006).
SimulatedMachine VnniMachine();
SimulatedMachine Avx2Machine();

struct SimulationResult {
  double seconds = 0;
  int tokens = 0;
  int steps = 0;
  int64_t fallbacks = 0, probes = 0;
  double predicted = 0, realised = 0;  // tokens of the steps that had a tree
};

SimulationResult SimulatePlain(const AcceptanceTrace& trace, const SimulatedMachine& machine);
// A constant setting without a budget: in each step the first of `drafters` (indices) that has a
// guess gives a chain of `guesses`.
SimulationResult SimulateConstant(const AcceptanceTrace& trace, const SimulatedMachine& machine,
                                  const std::vector<int>& drafters, int guesses);
// The fastest of plain decoding and all constant settings: one drafter or all, 1 to 16 guesses.
struct BestConstant {
  std::string name;
  SimulationResult result;
};
BestConstant SimulateBestConstant(const AcceptanceTrace& trace, const SimulatedMachine& machine);
// The real thing. A `budget` that was used before knows what it learned there.
SimulationResult SimulateBudget(const AcceptanceTrace& trace, const SimulatedMachine& machine,
                                const BudgetOptions& options, Budget* budget = nullptr);
// A budget for the machine, which has timed its draft model.
Budget MakeBudget(const SimulatedMachine& machine);

}  // namespace hunch

#endif  // HUNCH_TESTS_SUPPORT_BUDGET_SIMULATION_H_

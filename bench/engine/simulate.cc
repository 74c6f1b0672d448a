// The budget over recorded text (tests/support/budget_simulation.h), as a table:
//
//   simulate_budget TRACE_FOLDER [noise]
//
// Seconds against plain decoding; regret: how much longer than the best constant setting, chosen in
// hindsight for the whole trace.
#include <fmt/format.h>

#include <cstdlib>

#include "support/budget_simulation.h"

namespace hunch {
namespace {

void PrintRow(const AcceptanceTrace& trace, const SimulatedMachine& machine) {
  const SimulationResult plain = SimulatePlain(trace, machine);
  const BestConstant best = SimulateBestConstant(trace, machine);
  const SimulationResult goodput = SimulateBudget(trace, machine, {});
  const SimulationResult threshold = SimulateBudget(trace, machine, {.policy = Policy::kThreshold});
  const auto speed = [&](const SimulationResult& result) { return plain.seconds / result.seconds; };
  fmt::print("| {} | {} | {} | {:.2f} ({}) | {:.2f} | {:.2f} | {:+.1f} % | {} | {} | {:.2f} |\n",
             trace.name, trace.drafters.size() > 1 ? "both" : trace.drafters[0], machine.name,
             speed(best.result), best.name, speed(goodput), speed(threshold),
             100 * (goodput.seconds / best.result.seconds - 1), goodput.fallbacks, goodput.probes,
             goodput.realised > 0 ? goodput.predicted / goodput.realised : 1);
}

int Run(const std::string& folder, double noise) {
  const auto texts = ReadTexts(folder);
  if (!texts.ok()) {
    fmt::print(stderr, "simulate_budget: {}\n", texts.error().message);
    return 1;
  }
  fmt::print(
      "| trace | drafters | machine | best constant | goodput | threshold | regret | fallbacks | "
      "probes | predicted / real |\n|---|---|---|---|---|---|---|---|---|---|\n");
  for (SimulatedMachine machine : {VnniMachine(), Avx2Machine()}) {
    machine.noise = noise;
    machine.hiccups = noise > 0 ? 0.02 : 0;
    for (const AcceptanceTrace& trace : *texts) {
      PrintRow(trace, machine);
      PrintRow(OnlyDrafter(trace, 0), machine);
    }
  }
  return 0;
}

}  // namespace
}  // namespace hunch

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: simulate_budget TRACE_FOLDER [noise]\n");
    return 2;
  }
  return hunch::Run(argv[1], argc > 2 ? std::atof(argv[2]) : 0);
}

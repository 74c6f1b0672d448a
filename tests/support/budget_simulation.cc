#include "support/budget_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/philox.h"

namespace hunch {
namespace {

constexpr int kMostGuesses = 16;
constexpr int kFreeReading = 4;  // tokens that a model reads with its first guess
constexpr TokenId kWrong = 1 << 20;

bool HasModel(const AcceptanceTrace& trace, size_t drafter) {
  return trace.drafters[drafter] == "draft_model";
}

// What the machine's mood does to a pass at this position: the same whatever was guessed before it,
// so that settings are compared on the same luck.
double Mood(const SimulatedMachine& machine, size_t position) {
  const PhiloxCounter bits = Philox4x32({static_cast<uint32_t>(position), 0, 0, 0}, {7, 11});
  const auto uniform = [&](int i) { return (bits[i] + 0.5) / 4294967296.0; };
  if (uniform(3) < machine.hiccups) return 3;
  // Three uniform numbers: near enough to a bell, standard deviation 1/2.
  return 1 + machine.noise * 2 * (uniform(0) + uniform(1) + uniform(2) - 1.5);
}

// The text is 0, 1, 2, ...; a wrong guess is a token of its own.
DraftTree ChainAt(const AcceptanceTrace& trace, size_t position, uint8_t drafter, int most) {
  const TraceChain& chain = trace.positions[position].chains[drafter];
  DraftTree tree;
  for (int i = 0; i < std::min(most, static_cast<int>(chain.beliefs.size())); ++i) {
    const TokenId token =
        i < chain.right ? static_cast<TokenId>(position) + i : kWrong + 1000 * drafter + i;
    tree.Add(token, i - 1, chain.beliefs[i], DraftTree::kCertain, drafter);
  }
  return tree;
}

// One tree of chains: where two agree the surer one is named.
void MergeChain(const DraftTree& chain, DraftTree& tree) {
  int32_t parent = -1;
  for (int i = 0; i < chain.size(); ++i) {
    int32_t found = -1;
    for (int32_t node = 0; node < tree.size(); ++node) {
      if (tree.parents[node] == parent && tree.tokens[node] == chain.tokens[i]) found = node;
    }
    if (found < 0) {
      found = tree.Add(chain.tokens[i], parent, chain.probabilities[i], DraftTree::kCertain,
                       chain.sources[i]);
    } else if (chain.probabilities[i] > tree.probabilities[found]) {
      tree.probabilities[found] = chain.probabilities[i];
      tree.sources[found] = chain.sources[i];
    }
    parent = found;
  }
}

int CountAccepted(const DraftTree& tree, size_t position) {
  int accepted = 0;
  int32_t parent = -1;
  for (int32_t node = 0; node < tree.size(); ++node) {
    if (tree.parents[node] != parent) continue;
    if (tree.tokens[node] != static_cast<TokenId>(position) + accepted) continue;
    ++accepted;
    parent = node;
  }
  return accepted;
}

// A draft model's bookkeeping: what it has not read of the text.
class Reader {
 public:
  // Seconds of guessing a chain.
  double Guess(const SimulatedMachine& machine, int passes) {
    const int reading = std::max(0, std::exchange(unread_, 0) - kFreeReading);
    return passes * machine.draft_pass + reading * machine.draft_token;
  }
  // own: how many of them were its own guesses in this step. It has read all of those but the last.
  void Commit(int tokens, int own) { unread_ += tokens - std::max(0, std::min(own, tokens) - 1); }

 private:
  int unread_ = 1;
};

}  // namespace

SimulatedMachine VnniMachine() {
  return {.name = "VNNI",
          .curve = {{1, .0400},
                    {2, .0400},
                    {3, .0406},
                    {4, .0407},
                    {5, .0417},
                    {6, .0423},
                    {7, .0486},
                    {8, .0530},
                    {16, .100},
                    {65, .350}},
          .draft_pass = .0088,
          .draft_token = .0016};
}

SimulatedMachine Avx2Machine() {
  return {.name = "AVX2",
          .curve = {{1, .0395}, {2, .0420}, {4, .0541}, {8, .0990}, {16, .196}, {65, .790}},
          .draft_pass = .0125,
          .draft_token = .0045};
}

SimulationResult SimulatePlain(const AcceptanceTrace& trace, const SimulatedMachine& machine) {
  return SimulateConstant(trace, machine, {}, 0);
}

SimulationResult SimulateConstant(const AcceptanceTrace& trace, const SimulatedMachine& machine,
                                  const std::vector<int>& drafters, int guesses) {
  const CostCurve curve(machine.curve);
  SimulationResult result;
  Reader reader;
  for (size_t at = 0; at < trace.positions.size();) {
    const int left = trace.positions[at].tokens_left;
    DraftTree tree;
    double seconds = 0;
    int own = 0;
    for (const int drafter : drafters) {
      tree = ChainAt(trace, at, static_cast<uint8_t>(drafter), std::min(guesses, left - 1));
      if (!HasModel(trace, drafter)) {
        seconds += machine.free_call;
      } else if (!tree.empty()) {
        seconds += reader.Guess(machine, tree.size());
        own = tree.size();
      }
      if (!tree.empty()) break;
    }
    const int accepted = CountAccepted(tree, at);
    seconds += curve.Seconds(1 + tree.size()) * Mood(machine, at);
    result.seconds += seconds;
    result.tokens += accepted + 1;
    ++result.steps;
    reader.Commit(accepted + 1, std::min(own, accepted));
    at += accepted + 1;
  }
  return result;
}

BestConstant SimulateBestConstant(const AcceptanceTrace& trace, const SimulatedMachine& machine) {
  BestConstant best = {"plain", SimulatePlain(trace, machine)};
  std::vector<std::vector<int>> lists;
  std::vector<int> all;
  for (size_t drafter = 0; drafter < trace.drafters.size(); ++drafter) {
    lists.push_back({static_cast<int>(drafter)});
    all.push_back(static_cast<int>(drafter));
  }
  if (all.size() > 1) lists.push_back(all);
  for (const std::vector<int>& list : lists) {
    for (int guesses = 1; guesses <= kMostGuesses; ++guesses) {
      const SimulationResult result = SimulateConstant(trace, machine, list, guesses);
      if (result.seconds >= best.result.seconds) continue;
      best = {fmt::format("{}{} {}", trace.drafters[list.front()],
                          list.size() > 1 ? "+" + trace.drafters[list.back()] : "", guesses),
              result};
    }
  }
  return best;
}

Budget MakeBudget(const SimulatedMachine& machine) {
  Budget budget(CostCurve(machine.believed.empty() ? machine.curve : machine.believed));
  budget.SetDrafterCost(budget.DrafterId("draft_model"), machine.draft_pass, machine.draft_token);
  return budget;
}

SimulationResult SimulateBudget(const AcceptanceTrace& trace, const SimulatedMachine& machine,
                                const BudgetOptions& options, Budget* shared) {
  const CostCurve curve(machine.curve);
  std::optional<Budget> own;
  if (shared == nullptr) own.emplace(MakeBudget(machine));
  Budget& budget = own ? *own : *shared;
  const std::vector<std::string_view> names(trace.drafters.begin(), trace.drafters.end());
  SequenceBudget sequence(budget, options, names, trace.temperature);
  SimulationResult result;
  Reader reader;
  for (size_t at = 0; at < trace.positions.size();) {
    const int left = trace.positions[at].tokens_left;
    const auto limits = sequence.DraftLimits(1, kMostGuesses, left - 1);
    std::vector<DraftTree> proposed(names.size());
    std::vector<DrafterWork> work(names.size());
    DraftTree tree;
    int own = 0;
    for (size_t drafter = 0; drafter < names.size() && limits.max_nodes > 0; ++drafter) {
      float least = 0;
      int most = std::min(limits.max_nodes, limits.max_depth);
      if (HasModel(trace, drafter)) {
        const auto ask = sequence.WorthAsking(static_cast<int>(drafter), tree, 1);
        if (!ask.worth) continue;
        least = ask.min_path_probability;
        most = std::min(most, ask.max_depth);
      }
      DraftTree chain = ChainAt(trace, at, static_cast<uint8_t>(drafter), most);
      int passes = 0;
      float path = 1;
      while (passes < chain.size() && path >= least) path *= chain.probabilities[passes++];
      if (HasModel(trace, drafter)) {
        chain = ChainAt(trace, at, static_cast<uint8_t>(drafter), passes);
        work[drafter] = {reader.Guess(machine, passes), passes};
        own = std::min(passes, trace.positions[at].chains[drafter].right);
      } else {
        work[drafter] = {machine.free_call, 0};
      }
      MergeChain(chain, tree);
      proposed[drafter] = std::move(chain);
    }
    sequence.Prune(1, tree);
    const int rows = 1 + tree.size();
    const int accepted = CountAccepted(tree, at);
    const double pass = curve.Seconds(rows) * Mood(machine, at);
    std::vector<TokenId> tokens;
    for (int i = 0; i <= accepted; ++i) tokens.push_back(static_cast<TokenId>(at) + i);
    budget.ObservePass(rows, pass);
    sequence.Learn(proposed, tree.size(), tokens, rows, pass, work);
    result.seconds += pass;
    for (const DrafterWork& done : work) result.seconds += done.seconds;
    result.tokens += accepted + 1;
    if (!tree.empty()) result.realised += accepted + 1;
    ++result.steps;
    reader.Commit(accepted + 1, own);
    at += accepted + 1;
  }
  result.fallbacks = sequence.fallbacks();
  result.probes = sequence.probes();
  result.predicted = sequence.predicted_tokens();
  return result;
}

}  // namespace hunch

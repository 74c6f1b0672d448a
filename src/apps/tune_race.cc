#include "apps/tune_race.h"

#include <algorithm>
#include <array>
#include <map>

namespace hunch {
namespace {

constexpr std::array kGuesses = {2, 4, 6, 8};

// After so many prompts: what runs slower than this share of the best is dropped; and of the
// others, those past the `most` best, unless they are as good as it.
struct Rung {
  size_t prompts;
  double share;
  size_t most;
};
constexpr std::array<Rung, 5> kRungs = {
    {{1, 0.65, 12}, {2, 0.78, 8}, {4, 0.86, 5}, {8, 0.9, 4}, {16, 0.93, 3}}};
constexpr double kAsGood = 0.97;

bool AlwaysStays(const SpeculativeConfig& config) {
  return config.method.none() || config.method.automatic();
}

// On the prompts below `end`: what ran in an earlier race has run more of them.
double BestSpeedup(const std::vector<TuneEntry>& entries, size_t end) {
  double best = 0;
  for (const TuneEntry& entry : entries) {
    if (!entry.dropped) best = std::max(best, entry.Speedup(end));
  }
  return best;
}

void AddSettings(const DraftMethod& method, const std::string& draft_model,
                 std::vector<SpeculativeConfig>& settings) {
  SpeculativeConfig config;
  config.method = method;
  config.model = draft_model;
  settings.push_back(config);
  for (const int guesses : kGuesses) {
    config.num_speculative_tokens = guesses;
    settings.push_back(config);
  }
}

}  // namespace

bool TuneEntry::Has(size_t prompt) const {
  return std::any_of(samples.begin(), samples.end(),
                     [&](const TuneSample& sample) { return sample.prompt == prompt; });
}

double TuneEntry::Speedup(size_t end) const {
  double plain = 0, own = 0;
  for (const TuneSample& sample : samples) {
    if (sample.prompt >= end) continue;
    plain += sample.plain_seconds;
    own += sample.own.wall_seconds;
  }
  return own > 0 ? plain / own : 0;
}

std::vector<SpeculativeConfig> ModelFreeSettings(std::optional<DrafterKind> head) {
  std::vector<SpeculativeConfig> settings(2);
  settings[1].method = DraftMethod::Auto();
  for (const DrafterKind kind :
       {DrafterKind::kSuffix, DrafterKind::kNgram, DrafterKind::kTokenRecycling}) {
    AddSettings(kind, "", settings);
  }
  if (head) AddSettings(*head, "", settings);
  return settings;
}

std::vector<SpeculativeConfig> DraftModelSettings(DrafterKind kind,
                                                  const std::string& draft_model) {
  std::vector<SpeculativeConfig> settings(1);
  settings[0].method = DraftMethod::Auto();
  settings[0].model = draft_model;
  AddSettings(kind, draft_model, settings);
  return settings;
}

std::vector<BenchPrompt> InterleaveCategories(std::vector<BenchPrompt> prompts) {
  std::map<std::string, size_t> seen;
  std::vector<std::pair<size_t, BenchPrompt>> ranked;
  for (BenchPrompt& prompt : prompts) {
    const size_t rank = seen[prompt.category]++;
    ranked.emplace_back(rank, std::move(prompt));
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<BenchPrompt> out;
  for (auto& [rank, prompt] : ranked) out.push_back(std::move(prompt));
  return out;
}

void DropBehind(std::vector<TuneEntry>& entries, size_t from, size_t prompts) {
  const auto rung = std::find_if(kRungs.begin(), kRungs.end(),
                                 [&](const Rung& r) { return r.prompts == prompts; });
  if (rung == kRungs.end()) return;
  const double best = BestSpeedup(entries, prompts);
  std::vector<double> speedups;  // of those that may be dropped, best first
  for (size_t i = from; i < entries.size(); ++i) {
    const TuneEntry& entry = entries[i];
    if (!entry.dropped && !AlwaysStays(entry.config)) speedups.push_back(entry.Speedup());
  }
  std::sort(speedups.begin(), speedups.end(), std::greater<>());
  const double last = speedups.size() > rung->most ? speedups[rung->most - 1] : 0;
  for (size_t i = from; i < entries.size(); ++i) {
    TuneEntry& entry = entries[i];
    if (entry.dropped || AlwaysStays(entry.config)) continue;
    const double speedup = entry.Speedup();
    entry.dropped = speedup < rung->share * best || (speedup < last && speedup < kAsGood * best);
  }
}

std::vector<size_t> DroppedTooEarly(const std::vector<TuneEntry>& entries) {
  const double best = BestSpeedup(entries, std::numeric_limits<size_t>::max());
  std::vector<size_t> indices;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].dropped && entries[i].Speedup() >= best) indices.push_back(i);
  }
  return indices;
}

}  // namespace hunch

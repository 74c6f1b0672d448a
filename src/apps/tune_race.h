// The race of `hunch tune`: every setting runs against plain decoding on the same prompts, and what
// is clearly behind after the first prompts runs no further. Pure values, tested with numbers.
#ifndef HUNCH_APPS_TUNE_RACE_H_
#define HUNCH_APPS_TUNE_RACE_H_

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "apps/bench_stats.h"
#include "apps/prompts_file.h"
#include "session/llm.h"

namespace hunch {

// One setting's answer to one prompt, beside plain decoding's of the same turn.
struct TuneSample {
  size_t prompt = 0;
  BenchSample own;
  double plain_seconds = 0;
};

struct TuneEntry {
  SpeculativeConfig config;
  std::vector<TuneSample> samples = {};
  bool dropped = false;
  bool identical = true;

  bool Has(size_t prompt) const;
  // Wall time of plain decoding over this setting's, on its prompts below `end`; 0 without any.
  double Speedup(size_t end = std::numeric_limits<size_t>::max()) const;
};

// The settings that need no draft model, plain decoding first, with those of the shipped head, if
// there is one; and those of one draft model.
std::vector<SpeculativeConfig> ModelFreeSettings(std::optional<DrafterKind> head);
std::vector<SpeculativeConfig> DraftModelSettings(DrafterKind kind, const std::string& draft_model);

// The first of each category, then the second of each, ...: every beginning is a fair sample.
std::vector<BenchPrompt> InterleaveCategories(std::vector<BenchPrompt> prompts);

// Drops of entries[from..] what is clearly behind the best of all entries after `prompts` prompts
// (1, 2, 4, 8, ...: between them nothing is dropped). Plain decoding and auto always stay.
void DropBehind(std::vector<TuneEntry>& entries, size_t from, size_t prompts);

// Indices of dropped entries that look no worse than the best one that was not, now that the race
// is over: they have to run the rest after all.
std::vector<size_t> DroppedTooEarly(const std::vector<TuneEntry>& entries);

}  // namespace hunch

#endif  // HUNCH_APPS_TUNE_RACE_H_

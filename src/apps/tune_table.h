// The arithmetic and the table of `hunch tune`: what guessing should bring by acceptance and cost,
// what it brought, and which setting to take. Pure functions, tested with numbers.
#ifndef HUNCH_APPS_TUNE_TABLE_H_
#define HUNCH_APPS_TUNE_TABLE_H_

#include <string>
#include <vector>

#include "apps/tune_race.h"
#include "session/json_text.h"

namespace hunch {

// A chain of `guesses`, each right with this probability where those before it were, and the
// target's own token: 1 + a + ... + a^guesses.
double TokensPerPass(double acceptance, int guesses);

// Over plain decoding, when a pass of the draft model takes `cost_ratio` of one of the target.
double ChainSpeedup(double acceptance, int guesses, double cost_ratio, const CostCurve& curve);
// The number of guesses, 0 to 16, that makes it largest.
int BestGuesses(double acceptance, double cost_ratio, const CostCurve& curve);
// "a pass of small.gguf takes 0.40 of one of the target ...": and what follows for K.
std::string CostRatioLine(const std::string& name, double cost_ratio, const CostCurve& curve);

// What the request's decode passes should have taken by the curve, with the time that its drafters
// took.
double ExpectedDecodeSeconds(const SpeculationStats& stats, const CostCurve& curve);

struct TuneRow {
  SpeculativeConfig config;
  size_t prompts = 0;
  double acceptance = -1;  // below 0: nothing was guessed
  double tokens_per_pass = 0;
  // Of whole requests. A setting that was dropped early: its speed-up times plain decoding's rate.
  double tokens_per_second = 0;
  double speedup = 0;
  double expected_tokens_per_second = 0, expected_speedup = 0;  // by the curve
  bool dropped = false, identical = true;
};
// entries[0] is plain decoding. Sorted: those that ran to the end first, by speed. Settings without
// a sample are left out.
std::vector<TuneRow> TuneRows(const std::vector<TuneEntry>& entries, const CostCurve& curve);

// The row to take: the fastest, but auto where it is as fast but for noise; -1: no row may be taken
// (all were dropped or changed an output).
int ChooseRow(const std::vector<TuneRow>& rows);

std::string SettingLabel(const SpeculativeConfig& config);  // "draft_model (small.gguf)", without K
std::string TuneTable(const std::vector<TuneRow>& rows, int chosen);
Json TuneRowsJson(const std::vector<TuneRow>& rows, int chosen);

}  // namespace hunch

#endif  // HUNCH_APPS_TUNE_TABLE_H_

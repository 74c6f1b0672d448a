#include "apps/tune_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "apps/output_json.h"
#include "base/one_line.h"

namespace hunch {
namespace {

constexpr double kNoise = 0.03;  // a difference in speed that another run may turn round
constexpr int kMostGuesses = 16;

// Between two numbers of rows too: trees differ from step to step.
double SecondsOf(const CostCurve& curve, double rows) {
  const int below = static_cast<int>(rows);
  const double least = curve.Seconds(below);
  return least + (rows - below) * (curve.Seconds(below + 1) - least);
}

struct Sums {
  double wall = 0, prefill = 0;
  int64_t tokens = 0;
  SpeculationStats speculation;
};

Sums SumsOf(const TuneEntry& entry) {
  Sums sums;
  for (const TuneSample& sample : entry.samples) {
    sums.wall += sample.own.wall_seconds;
    sums.prefill += sample.own.prefill_seconds;
    sums.tokens += sample.own.tokens;
    sums.speculation.Add(sample.own.speculation);
  }
  return sums;
}

// Each once: plain decoding runs in every race.
size_t PromptsOf(const TuneEntry& entry) {
  std::set<size_t> prompts;
  for (const TuneSample& sample : entry.samples) prompts.insert(sample.prompt);
  return prompts.size();
}

TuneRow RowOf(const TuneEntry& entry, double plain_rate, const CostCurve& curve) {
  const Sums sums = SumsOf(entry);
  TuneRow row = {.config = entry.config,
                 .prompts = PromptsOf(entry),
                 .acceptance = sums.speculation.acceptance_rate(),
                 .tokens_per_pass = sums.speculation.tokens_per_pass(),
                 .speedup = entry.Speedup(),
                 .dropped = entry.dropped,
                 .identical = entry.identical};
  row.tokens_per_second = plain_rate * row.speedup;
  const double expected = sums.prefill + ExpectedDecodeSeconds(sums.speculation, curve);
  const double plain =
      sums.prefill + static_cast<double>(sums.speculation.decode_tokens) * curve.Seconds(1);
  if (expected > 0) {
    row.expected_tokens_per_second = static_cast<double>(sums.tokens) / expected;
    row.expected_speedup = plain / expected;
  }
  return row;
}

std::string GuessesText(const SpeculativeConfig& config) {
  if (config.method.none()) return "-";
  const int guesses = config.num_speculative_tokens;
  return guesses > 0 ? fmt::format("{}", guesses) : "auto";
}

}  // namespace

double TokensPerPass(double acceptance, int guesses) {
  double tokens = 1, reached = 1;
  for (int i = 0; i < guesses; ++i) tokens += reached *= acceptance;
  return tokens;
}

double ChainSpeedup(double acceptance, int guesses, double cost_ratio, const CostCurve& curve) {
  const double cost = guesses * cost_ratio + curve.Seconds(guesses + 1) / curve.Seconds(1);
  return TokensPerPass(acceptance, guesses) / cost;
}

int BestGuesses(double acceptance, double cost_ratio, const CostCurve& curve) {
  int best = 0;
  for (int guesses = 1; guesses <= kMostGuesses; ++guesses) {
    if (ChainSpeedup(acceptance, guesses, cost_ratio, curve) >
        ChainSpeedup(acceptance, best, cost_ratio, curve)) {
      best = guesses;
    }
  }
  return best;
}

std::string CostRatioLine(const std::string& name, double cost_ratio, const CostCurve& curve) {
  std::string line = fmt::format(
      "{}: one of its passes takes {:.2f} of a pass of the target. The best K grows with speed "
      "ratio x acceptance:",
      name, cost_ratio);
  std::string_view separator = " ";
  for (const double acceptance : {0.6, 0.8, 0.9}) {
    const int guesses = BestGuesses(acceptance, cost_ratio, curve);
    line +=
        fmt::format("{}{} at {:.0f} % accepted", separator,
                    guesses == 0 ? "none pays" : fmt::format("K = {}", guesses), 100 * acceptance);
    if (guesses > 0) {
      line += fmt::format(" ({:.2f} x)", ChainSpeedup(acceptance, guesses, cost_ratio, curve));
    }
    separator = ", ";
  }
  return line;
}

double ExpectedDecodeSeconds(const SpeculationStats& stats, const CostCurve& curve) {
  const auto drafts = static_cast<double>(stats.drafts);
  const auto plain = static_cast<double>(std::max<int64_t>(stats.target_passes - stats.drafts, 0));
  double seconds = plain * curve.Seconds(1) + stats.draft_seconds;
  if (drafts > 0) {
    seconds += drafts * SecondsOf(curve, 1 + static_cast<double>(stats.draft_tokens) / drafts);
  }
  return seconds;
}

std::vector<TuneRow> TuneRows(const std::vector<TuneEntry>& entries, const CostCurve& curve) {
  const Sums plain = SumsOf(entries[0]);
  const double plain_rate = plain.wall > 0 ? static_cast<double>(plain.tokens) / plain.wall : 0;
  std::vector<TuneRow> rows;
  for (const TuneEntry& entry : entries) {
    if (!entry.samples.empty()) rows.push_back(RowOf(entry, plain_rate, curve));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const TuneRow& a, const TuneRow& b) {
    return a.dropped != b.dropped ? b.dropped : a.speedup > b.speedup;
  });
  return rows;
}

int ChooseRow(const std::vector<TuneRow>& rows) {
  const auto may = [](const TuneRow& row) { return !row.dropped && row.identical; };
  const auto best = std::find_if(rows.begin(), rows.end(), may);
  if (best == rows.end()) return -1;
  const auto as_good = std::find_if(best, rows.end(), [&](const TuneRow& row) {
    return may(row) && row.config.method.automatic() && row.speedup >= (1 - kNoise) * best->speedup;
  });
  return static_cast<int>((as_good == rows.end() ? best : as_good) - rows.begin());
}

std::string SettingLabel(const SpeculativeConfig& config) {
  const std::string name = DraftMethodName(config.method);
  if (!config.UsesModel()) return name;
  return fmt::format("{} ({})", name, std::filesystem::path(config.model).filename().string());
}

std::string TuneTable(const std::vector<TuneRow>& rows, int chosen) {
  size_t width = 8;
  for (const TuneRow& row : rows) width = std::max(width, SettingLabel(row.config).size() + 1);
  std::string out = fmt::format("{:<3}{:<{}}{:>5}{:>8}{:>8}{:>10}{:>10}{:>10}{:>10}{:>10}  {}\n",
                                "", "setting", width, "K", "prompts", "accept", "tok/pass", "tok/s",
                                "expected", "speed-up", "expected", "identical");
  for (size_t i = 0; i < rows.size(); ++i) {
    const TuneRow& row = rows[i];
    out += fmt::format(
        "{:<3}{:<{}}{:>5}{:>8}{:>8}{:>10.2f}{:>10.2f}{:>10.2f}{:>10.3f}{:>10.3f}  {}{}\n",
        static_cast<int>(i) == chosen ? "=>" : "", OneLine(SettingLabel(row.config)), width,
        GuessesText(row.config), row.prompts,
        row.acceptance >= 0 ? fmt::format("{:.3f}", row.acceptance) : "-", row.tokens_per_pass,
        row.tokens_per_second, row.expected_tokens_per_second, row.speedup, row.expected_speedup,
        row.identical ? "yes" : "NO", row.dropped ? ", dropped" : "");
  }
  return out;
}

Json TuneRowsJson(const std::vector<TuneRow>& rows, int chosen) {
  Json json = Json::array();
  for (size_t i = 0; i < rows.size(); ++i) {
    const TuneRow& row = rows[i];
    const int guesses = row.config.num_speculative_tokens;
    const std::string& draft = row.config.model;
    json.push_back({{"method", DraftMethodName(row.config.method)},
                    {"num_speculative_tokens", guesses > 0 ? Json(guesses) : Json(nullptr)},
                    {"draft_model", draft.empty() ? Json(nullptr) : Json(draft)},
                    {"prompts", row.prompts},
                    {"dropped", row.dropped},
                    {"identical", row.identical},
                    {"acceptance_rate", row.acceptance >= 0 ? Json(row.acceptance) : Json(nullptr)},
                    {"tokens_per_pass", row.tokens_per_pass},
                    {"tokens_per_second", row.tokens_per_second},
                    {"expected_tokens_per_second", row.expected_tokens_per_second},
                    {"speedup", row.speedup},
                    {"expected_speedup", row.expected_speedup},
                    {"chosen", static_cast<int>(i) == chosen}});
  }
  return json;
}

}  // namespace hunch

#include "apps/tune_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "apps/bench_html.h"
#include "apps/bench_html_parts.h"
#include "apps/bench_plan.h"
#include "base/isa.h"

namespace hunch {
namespace {

std::string FileName(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

std::string GuessesText(const TuneRow& row) {
  const int guesses = row.config.num_speculative_tokens;
  if (row.config.method.none()) return "-";
  return guesses > 0 ? fmt::format("{}", guesses) : "as many as pay";
}

std::string FullLabel(const TuneRow& row) {
  const int guesses = row.config.num_speculative_tokens;
  return SettingLabel(row.config) + (guesses > 0 ? fmt::format(", K = {}", guesses) : "");
}

HtmlFacts Settings(const TuneResults& results, const Flags& flags) {
  const SamplingParams sampling = flags.Sampling(kBenchMaxTokens);
  HtmlFacts facts = {{"CPU", CpuName()},
                     {"Instructions", std::string(IsaName(ActiveIsa()))},
                     {"Threads", fmt::format("{}", results.threads)},
                     {"Model", FileName(flags.model)}};
  for (const TuneDraft& draft : results.drafts) {
    facts.emplace_back("Draft model", draft.line.empty() ? FileName(draft.path) : draft.line);
  }
  facts.emplace_back("Prompts",
                     fmt::format("{} ({} skipped as too long)", results.prompts, results.skipped));
  facts.emplace_back(
      "Sampling", fmt::format("temperature {:g}, seed {}, at most {} tokens", sampling.temperature,
                              sampling.seed, sampling.max_tokens));
  return facts;
}

std::string Verdict(const TuneResults& results) {
  std::string out;
  if (results.chosen >= 0) {
    const TuneRow& row = results.rows[results.chosen];
    out += VerdictHtml(true, fmt::format("Best here: {} ({:.2f} tok/s, {:.2f} x plain decoding)",
                                         FullLabel(row), row.tokens_per_second, row.speedup));
  }
  if (results.interrupted) out += VerdictHtml(false, "Interrupted: not every prompt was run.");
  if (results.differences.empty()) return out;
  out += VerdictHtml(false, fmt::format("Identical: NO. {} answers differ from plain decoding.",
                                        results.differences.size()));
  out += "<ul class=\"note\">\n";
  for (const std::string& line : results.differences) {
    out += "<li>" + EscapeHtml(line) + "</li>\n";
  }
  return out + "</ul>\n";
}

// One colour a method; filled what was measured, hollow what was expected.
std::string ScatterCard(const TuneResults& results) {
  std::vector<PlotSeries> measured, expected;
  for (const TuneRow& row : results.rows) {
    if (row.acceptance < 0) continue;
    const std::string label = SettingLabel(row.config);
    auto same = std::find_if(measured.begin(), measured.end(),
                             [&](const PlotSeries& one) { return one.label == label; });
    if (same == measured.end()) {
      const int colour = MethodColour(measured.size() + 1);
      expected.push_back({.label = label + ", expected",
                          .points = {},
                          .colour = colour,
                          .joined = false,
                          .hollow = true,
                          .listed = false});
      same =
          measured.insert(same, {.label = label, .points = {}, .colour = colour, .joined = false});
    }
    const auto index = same - measured.begin();
    const std::string where =
        fmt::format("K {}, {:.1f} % accepted", GuessesText(row), 100 * row.acceptance);
    same->points.push_back(
        {row.acceptance, row.speedup, fmt::format("{}, {:.3f} x", where, row.speedup)});
    expected[index].points.push_back({row.acceptance, row.expected_speedup,
                                      fmt::format("{}, {:.3f} x", where, row.expected_speedup)});
  }
  std::vector<PlotSeries> all = expected;
  all.insert(all.end(), measured.begin(), measured.end());
  const PlotOptions options = {.title = "Speed-up by the share of guesses accepted",
                               .x_label = "share of guesses accepted",
                               .y_label = "speed-up over plain decoding",
                               .share_x = true,
                               .mark_y = 1};
  return HtmlCard("Acceptance against speed-up",
                  PointsPlot(options, all) +
                      "<p class=\"note\">Filled: measured. Hollow: expected by acceptance and what "
                      "passes take. The strong line is plain decoding.</p>\n");
}

std::string SpeedCard(const TuneResults& results) {
  std::vector<PlotBar> bars;
  for (const TuneRow& row : results.rows) {
    if (row.dropped) continue;
    bars.push_back({FullLabel(row),
                    fmt::format("{:.1f} tok/s, {:.2f} x", row.tokens_per_second, row.speedup),
                    row.tokens_per_second, row.config.method.none() ? 0 : 1});
  }
  return HtmlCard("Settings that ran to the end", BarsSvg("Tokens per second by setting", bars));
}

std::string RowsTable(const TuneResults& results) {
  HtmlTable table = {"Every setting; a dropped one was clearly behind after its prompts",
                     {"Setting", "K", "prompts", "accepted", "tok/pass", "tok/s", "expected",
                      "speed-up", "expected", "identical", ""},
                     {}};
  for (size_t i = 0; i < results.rows.size(); ++i) {
    const TuneRow& row = results.rows[i];
    table.rows.push_back(
        {SettingLabel(row.config), GuessesText(row), fmt::format("{}", row.prompts),
         ShareText(row.acceptance < 0 ? 0 : row.acceptance, row.acceptance < 0 ? 0 : 1),
         fmt::format("{:.2f}", row.tokens_per_pass), fmt::format("{:.2f}", row.tokens_per_second),
         fmt::format("{:.2f}", row.expected_tokens_per_second), fmt::format("{:.3f}", row.speedup),
         fmt::format("{:.3f}", row.expected_speedup), row.identical ? "yes" : "NO",
         static_cast<int>(i) == results.chosen ? "best"
         : row.dropped                         ? "dropped"
                                               : ""});
  }
  return HtmlCard("Settings", TableHtml(table));
}

}  // namespace

Json TuneJson(const TuneResults& results, const Flags& flags) {
  const SamplingParams sampling = flags.Sampling(kBenchMaxTokens);
  Json json;
  json["model"] = flags.model;
  json["cpu"] = CpuName();
  json["isa"] = IsaName(ActiveIsa());
  json["threads"] = results.threads;
  json["temperature"] = sampling.temperature;
  json["seed"] = sampling.seed;
  json["max_tokens"] = sampling.max_tokens;
  json["prompts"] = results.prompts;
  json["prompts_skipped"] = results.skipped;
  json["interrupted"] = results.interrupted;
  json["draft_models"] = Json::array();
  for (const TuneDraft& draft : results.drafts) {
    json["draft_models"].push_back(
        {{"path", draft.path},
         {"cost_ratio", draft.cost_ratio > 0 ? Json(draft.cost_ratio) : Json(nullptr)}});
  }
  json["rows"] = TuneRowsJson(results.rows, results.chosen);
  json["differences"] = results.differences;
  json["pass_times"] = Json::array();
  for (const PassTime& time : results.pass_times) {
    json["pass_times"].push_back(Json::array({time.rows, time.seconds}));
  }
  return json;
}

std::string TuneHtml(const TuneResults& results, const Flags& flags) {
  return HtmlPage(
      "Hunch tune: " + FileName(flags.model),
      Verdict(results) + FactsHtml(Settings(results, flags)) + "<h2>Settings</h2>\n" +
          RowsTable(results) + "<h2>Plots</h2>\n" +
          HtmlCards(SpeedCard(results) + ScatterCard(results) + PassTimesHtml(results.pass_times)));
}

}  // namespace hunch

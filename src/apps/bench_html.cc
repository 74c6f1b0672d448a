#include "apps/bench_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "apps/bench_html_parts.h"
#include "apps/bench_report.h"
#include "base/isa.h"

namespace hunch {
namespace {

constexpr size_t kMostPositions = 16;  // of the plot by position

std::string FileName(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

HtmlFacts Settings(const BenchResults& results, const Flags& flags) {
  const SamplingParams sampling = flags.Sampling(kBenchMaxTokens);
  HtmlFacts facts = {{"CPU", CpuName()},
                     {"Instructions", std::string(IsaName(ActiveIsa()))},
                     {"Threads", fmt::format("{}", results.threads)},
                     {"Model", FileName(flags.model)}};
  if (const std::string& draft = flags.speculation.fields.model; !draft.empty()) {
    facts.emplace_back("Draft model", FileName(draft));
  }
  if (const std::string& head = flags.speculation.fields.head; !head.empty()) {
    facts.emplace_back("Head", FileName(head));
  }
  facts.emplace_back("Cache", std::string(KvCacheDtypeName(flags.kv_cache_dtype)));
  facts.emplace_back(
      "Prompts", fmt::format("{} ({} skipped as too long), {} round{}", results.prompts.size(),
                             results.skipped.size(), flags.rounds, flags.rounds == 1 ? "" : "s"));
  facts.emplace_back(
      "Sampling", fmt::format("temperature {:g}, seed {}, at most {} tokens", sampling.temperature,
                              sampling.seed, sampling.max_tokens));
  return facts;
}

std::string Verdict(const BenchResults& results) {
  if (!results.compared) {
    return VerdictHtml(true,
                       "Identical: not compared. This rule of acceptance promises the "
                       "model's distribution, not one text.");
  }
  if (results.mismatches.empty()) {
    return VerdictHtml(true, "Identical: yes. Every answer was that of plain decoding.");
  }
  std::string list;
  for (const Mismatch& mismatch : results.mismatches) {
    list += "<li>" + EscapeHtml(MismatchLine(results, mismatch)) + "</li>\n";
  }
  return VerdictHtml(false, fmt::format("Identical: NO. {} answers differ from plain decoding.",
                                        results.mismatches.size())) +
         "<ul class=\"note\">\n" + list + "</ul>\n";
}

std::string SpeedCard(const BenchResults& results, const BenchSection& section) {
  const std::string name = section.category.empty() ? "All prompts" : section.category;
  std::vector<PlotBar> bars;
  HtmlTable table = {fmt::format("{}: {} prompts", name, PromptCount(results, section)),
                     {"Method", "tok/s", "speed-up", "accepted", "tok/pass", "identical",
                      "first token", "tok/s, range", "speed-up, range"},
                     {}};
  for (size_t method = 0; method < results.methods.size(); ++method) {
    const MethodSummary s = SummaryOf(results, method, section);
    const std::string label = MethodLabel(results.methods[method]);
    bars.push_back(
        {label, fmt::format("{:.1f} tok/s, {:.2f} x", s.tokens_per_second.median, s.speedup.median),
         s.tokens_per_second.median, MethodColour(method)});
    const std::string_view identical = !results.compared                     ? "-"
                                       : Identical(results, method, section) ? "yes"
                                                                             : "NO";
    table.rows.push_back(
        {label, fmt::format("{:.2f}", s.tokens_per_second.median),
         fmt::format("{:.3f}", s.speedup.median),
         ShareText(s.total.accepted_tokens, s.total.draft_tokens),
         fmt::format("{:.2f}", s.total.tokens_per_pass()), std::string(identical),
         fmt::format("{:.0f} ms", s.ttft_ms),
         fmt::format("{:.2f}..{:.2f}", s.tokens_per_second.least, s.tokens_per_second.most),
         fmt::format("{:.3f}..{:.3f}", s.speedup.least, s.speedup.most)});
  }
  return HtmlCard(name, BarsSvg("Tokens per second by method: " + name, bars) + TableHtml(table));
}

std::string Speed(const BenchResults& results) {
  std::vector<BenchSection> sections = Categories(results);
  if (sections.size() > 1) sections.insert(sections.begin(), BenchSection{});
  std::string cards;
  for (const BenchSection& section : sections) cards += SpeedCard(results, section);
  return "<h2>Speed</h2>\n<p class=\"note\">tok/s: decoded tokens after the first per second of "
         "decoding. Speed-up: time of whole requests, prompt passes included, of plain decoding "
         "over the method's. Medians over the rounds.</p>\n" +
         HtmlCards(cards);
}

std::string ByPosition(const BenchResults& results) {
  PlotOptions options = {.title = "Share of drafts whose guess at a position was accepted",
                         .x_label = "position of the guess",
                         .y_label = "accepted, of all drafts",
                         .share_y = true};
  std::vector<PlotSeries> lines;
  size_t positions = 0;
  for (size_t method = 1; method < results.methods.size(); ++method) {
    const SpeculationStats total = SummaryOf(results, method, {}).total;
    PlotSeries line = {.label = MethodLabel(results.methods[method]),
                       .colour = MethodColour(method)};
    const size_t count = std::min(total.accepted_per_position.size(), kMostPositions);
    positions = std::max(positions, count);
    for (size_t i = 0; i < count && total.drafts > 0; ++i) {
      const auto accepted = static_cast<double>(total.accepted_per_position[i]);
      line.points.push_back(
          {static_cast<double>(i + 1), accepted / static_cast<double>(total.drafts),
           fmt::format("position {}: {:.0f} of {} drafts", i + 1, accepted, total.drafts)});
    }
    lines.push_back(std::move(line));
  }
  HtmlTable table = {"Accepted at each position, of all drafts", {"Method"}, {}};
  for (size_t i = 1; i <= positions; ++i) {
    options.x_ticks.push_back(static_cast<double>(i));
    table.head.push_back(fmt::format("{}", i));
  }
  for (const PlotSeries& line : lines) {
    std::vector<std::string>& row = table.rows.emplace_back(1, line.label);
    for (const PlotPoint& point : line.points)
      row.push_back(fmt::format("{:.0f} %", 100 * point.y));
    row.resize(positions + 1, "-");
  }
  if (positions == 1) options.x_ticks = {0, 1};
  return HtmlCard("Acceptance by position", PointsPlot(options, lines) + TableHtml(table));
}

std::string PlaceName(int place, int places) {
  return fmt::format("{}{}", place + 1, place + 1 == places ? "+" : "");
}

// What became of guesses by depth and by rank among their siblings.
std::string TreeCard(const SpeculationStats& total, const std::string& method) {
  const TreeCounts& places = total.places;
  int depths = 0, ranks = 0;
  for (int depth = 0; depth < TreeCounts::kDepths; ++depth) {
    for (int rank = 0; rank < TreeCounts::kRanks; ++rank) {
      if (places.verified[depth][rank] == 0) continue;
      depths = std::max(depths, depth + 1);
      ranks = std::max(ranks, rank + 1);
    }
  }
  if (depths == 0) return "";
  std::vector<std::string> columns, rows;
  std::vector<std::vector<HeatCell>> cells(ranks);
  HtmlTable table = {"Accepted of verified guesses, by depth", {"Depth"}, {}};
  for (int rank = 0; rank < ranks; ++rank) {
    rows.push_back("sibling " + PlaceName(rank, TreeCounts::kRanks));
    table.head.push_back(rows.back());
  }
  for (int depth = 0; depth < depths; ++depth) {
    columns.push_back(PlaceName(depth, TreeCounts::kDepths));
    std::vector<std::string>& row = table.rows.emplace_back(1, columns.back());
    for (int rank = 0; rank < ranks; ++rank) {
      const auto verified = static_cast<double>(places.verified[depth][rank]);
      const auto accepted = static_cast<double>(places.accepted[depth][rank]);
      HeatCell cell;
      if (verified > 0) cell.share = accepted / verified;
      cell.hint = fmt::format("depth {}, {}: {:.0f} of {:.0f} accepted", columns.back(), rows[rank],
                              accepted, verified);
      cells[rank].push_back(cell);
      row.push_back(verified > 0 ? fmt::format("{:.0f} of {:.0f}", accepted, verified) : "-");
    }
  }
  return HtmlCard(method, HeatSvg("Per cent of guesses accepted, by depth and sibling: " + method,
                                  "depth in the tree; per cent accepted", columns, rows, cells) +
                              TableHtml(table));
}

std::string Trees(const BenchResults& results) {
  std::string cards;
  for (size_t method = 1; method < results.methods.size(); ++method) {
    cards += TreeCard(SummaryOf(results, method, {}).total, MethodLabel(results.methods[method]));
  }
  if (cards.empty()) return "";
  return "<h2>Trees</h2>\n<p class=\"note\">Of the guesses verified at a place, how many were "
         "accepted. Siblings continue the same tokens, in the order in which they were "
         "guessed.</p>\n" +
         HtmlCards(cards);
}

}  // namespace

int MethodColour(size_t method) { return method == 0 ? 0 : 1 + static_cast<int>((method - 1) % 7); }

std::string ShareText(double numerator, double denominator) {
  return denominator > 0 ? fmt::format("{:.1f} %", 100 * numerator / denominator) : "-";
}

std::string PassTimesHtml(const std::vector<PassTime>& times) {
  if (times.empty()) return "";
  PlotSeries line = {.label = "a pass", .colour = 1};
  HtmlTable table = {"Time of a pass by its rows", {"Rows", "ms", "of 1 row", "ms a row"}, {}};
  for (const PassTime& time : times) {
    const double ms = time.seconds * 1e3;
    line.points.push_back(
        {static_cast<double>(time.rows), ms, fmt::format("{} rows: {:.2f} ms", time.rows, ms)});
    const bool shown = time.rows <= 6 || (time.rows & (time.rows - 1)) == 0;
    if (!shown) continue;
    table.rows.push_back({fmt::format("{}", time.rows), fmt::format("{:.2f}", ms),
                          fmt::format("{:.2f} x", time.seconds / times[0].seconds),
                          fmt::format("{:.2f}", ms / time.rows)});
  }
  const PlotOptions options = {.title = "Time of a pass of the target by its rows",
                               .x_label = "rows of the pass",
                               .y_label = "milliseconds",
                               .log_x = true};
  return HtmlCard("What a pass costs", PointsPlot(options, {line}) + TableHtml(table));
}

std::string BenchHtml(const BenchResults& results, const Flags& flags) {
  return HtmlPage(
      "Hunch bench: " + FileName(flags.model),
      (results.interrupted ? VerdictHtml(false, "Interrupted: not every prompt was run.") : "") +
          Verdict(results) + FactsHtml(Settings(results, flags)) + Speed(results) +
          "<h2>Guesses and passes</h2>\n" +
          HtmlCards(ByPosition(results) + PassTimesHtml(results.pass_times)) + Trees(results));
}

}  // namespace hunch

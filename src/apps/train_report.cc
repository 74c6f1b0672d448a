#include "apps/train_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "apps/bench_html_parts.h"
#include "apps/bench_html_plots.h"

namespace hunch {
namespace {

std::string FileName(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

HtmlFacts Facts(const TrainedStudent& trained, const Flags& flags) {
  const TrainPosition& position = trained.outcome.position;
  HtmlFacts facts = {
      {"Model", FileName(flags.model)},
      {"Trained", fmt::format("{}, {}", FileName(flags.out_file), trained.student.Kind())}};
  for (const auto& fact : trained.student.Facts()) facts.push_back(fact);
  facts.insert(facts.end(),
               {{"Answers",
                 fmt::format("{} learned from ({} tokens), {} held out", trained.set.learned.size(),
                             trained.set.learned_tokens, trained.set.held_out.size())},
                {"Prompts", flags.prompt_files.empty() ? "written by the model" : "from files"},
                {"Learned", fmt::format("{} tokens in {:.0f} s, {} steps ahead, {}",
                                        position.tokens, position.seconds, trained.options.steps,
                                        PrecisionName(position.precision))}});
  return facts;
}

bool IsBefore(const CurvePoint& point) { return point.tokens == 0; }

// A point of the curve as a plot's.
PlotPoint PointOf(const CurvePoint& point, double y) {
  const double millions = static_cast<double>(point.tokens) / 1e6;
  return {millions, y, fmt::format("{:.3f} after {:.3f} million tokens", y, millions)};
}

std::string CurveCard(const std::string& title, double CurvePoint::*field, double mark,
                      const std::vector<CurvePoint>& curve) {
  PlotSeries series = {.label = title, .colour = 1};
  for (const CurvePoint& point : curve) {
    if (IsBefore(point) && field == &CurvePoint::loss) continue;
    series.points.push_back(PointOf(point, point.*field));
  }
  const PlotOptions options = {.title = title + " by tokens learned from",
                               .x_label = "million tokens",
                               .y_label = title,
                               .mark_y = mark};
  return HtmlCard(title, PointsPlot(options, {series}));
}

std::string RightCard(const std::vector<CurvePoint>& curve) {
  std::vector<PlotSeries> series;
  for (const CurvePoint& point : curve) {
    for (size_t step = 0; step < point.right.size(); ++step) {
      if (step == series.size()) {
        series.push_back(
            {.label = fmt::format("guess {}", step + 1), .colour = static_cast<int>(step) + 1});
      }
      series[step].points.push_back(PointOf(point, point.right[step]));
    }
  }
  const PlotOptions options = {.title = "Right guesses by tokens learned from",
                               .x_label = "million tokens",
                               .y_label = "share of those whose chain was right",
                               .share_y = true};
  return HtmlCard("Right guesses", PointsPlot(options, series));
}

std::string CurveTable(const std::vector<CurvePoint>& curve) {
  HtmlTable table = {"After each epoch, and before the first, on held-out answers",
                     {"tokens", "seconds", "loss", "tokens per pass", "right guesses"},
                     {}};
  for (const CurvePoint& point : curve) {
    table.rows.push_back({fmt::format("{}", point.tokens), fmt::format("{:.0f}", point.seconds),
                          IsBefore(point) ? "-" : fmt::format("{:.4f}", point.loss),
                          fmt::format("{:.3f}", point.tokens_per_pass),
                          fmt::format("{:.2f}", fmt::join(point.right, " "))});
  }
  return TableHtml(table);
}

}  // namespace

std::string BeforeText(const std::vector<CurvePoint>& curve) {
  if (curve.empty() || !IsBefore(curve.front())) return "";
  return fmt::format(", {:.2f} before", curve.front().tokens_per_pass);
}

std::string TrainHtml(const TrainedStudent& trained, const Flags& flags) {
  const TrainOutcome& outcome = trained.outcome;
  const auto& curve = outcome.position.curve;
  const std::string verdict = VerdictHtml(
      outcome.finished,
      fmt::format(
          "{}{:.2f} tokens per pass on held-out answers{}: chains of {} guesses, temperature 0",
          outcome.finished ? "" : "Not finished. ", outcome.position.best, BeforeText(curve),
          trained.student.JudgedSteps()));
  return HtmlPage(
      "Hunch train: " + FileName(flags.out_file),
      verdict + FactsHtml(Facts(trained, flags)) + "<h2>Curves</h2>\n" +
          HtmlCards(CurveCard("tokens per pass", &CurvePoint::tokens_per_pass, 1, curve) +
                    RightCard(curve) + CurveCard("loss", &CurvePoint::loss, 0, curve)) +
          "<h2>Numbers</h2>\n" + CurveTable(curve));
}

}  // namespace hunch

#include "apps/bench_html_plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/bench_html_parts.h"

namespace hunch {
namespace {

// Narrow, so that on a phone the text is nearly as large as it says.
constexpr double kWidth = 340;
constexpr double kHeight = 250, kLeft = 46, kRight = 332, kTop = 22, kBottom = 208;
constexpr size_t kMostLabel = 30;  // characters that have room beside a value
constexpr int kColours = 8, kDashes = 4;

// Numbers may be anything that a clock gave; coordinates may not.
double Finite(double value) { return std::isfinite(value) ? value : 0; }

std::string Open(double height, const std::string& title) {
  return fmt::format(
      "<svg class=\"plot\" viewBox=\"0 0 {} {:.0f}\" role=\"img\" aria-label=\"{}\">\n", kWidth,
      height, EscapeHtml(title));
}

std::string Text(double x, double y, std::string_view anchor, std::string_view css,
                 std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n",
                     x, y, anchor, css, EscapeHtml(text));
}

std::string Line(double x1, double y1, double x2, double y2, std::string_view css) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1, y1, x2,
      y2, css);
}

int Colour(int colour) { return colour % kColours; }
int Dash(int colour) { return colour / 2 % kDashes; }

// 1, 2 or 5 times a power of ten, so that about `count` of them reach `most`.
double TickStep(double most, int count) {
  const double raw = most / count;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double digit : {1.0, 2.0, 5.0}) {
    if (digit * power >= raw * 0.999) return digit * power;
  }
  return 10 * power;
}

struct Scale {
  double least = 0, most = 1, from = 0, to = 1;
  bool log = false;
  double operator()(double value) const {
    const auto at = [this](double v) { return log ? std::log2(std::max(v, 1e-9)) : v; };
    const double share = (at(value) - at(least)) / (at(most) - at(least));
    return from + (to - from) * std::clamp(share, 0.0, 1.0);
  }
};

std::vector<double> Ticks(const Scale& scale) {
  std::vector<double> ticks;
  if (scale.log) {
    for (double tick = scale.least; tick <= scale.most; tick *= 2) ticks.push_back(tick);
    return ticks;
  }
  const double step = TickStep(scale.most, 5);
  for (int i = 0; i * step <= scale.most * 1.0001; ++i) ticks.push_back(i * step);
  return ticks;
}

std::string Frame(const PlotOptions& options, const Scale& x, const Scale& y) {
  std::string out;
  for (const double tick : options.x_ticks.empty() ? Ticks(x) : options.x_ticks) {
    out += Line(x(tick), kTop, x(tick), kBottom, "grid");
    out += Text(x(tick), kBottom + 15, "middle", "quiet", fmt::format("{:g}", tick));
  }
  for (const double tick : Ticks(y)) {
    out += Line(kLeft, y(tick), kRight, y(tick), "grid");
    out += Text(kLeft - 5, y(tick) + 4, "end", "quiet", fmt::format("{:g}", tick));
  }
  if (options.mark_y > 0) {
    out += Line(kLeft, y(options.mark_y), kRight, y(options.mark_y), "strong");
  }
  out += Text((kLeft + kRight) / 2, kBottom + 33, "middle", "quiet", options.x_label);
  return out + Text(6, 13, "start", "quiet", options.y_label);
}

std::string Drawn(const PlotSeries& series, const Scale& x, const Scale& y) {
  std::string line, dots;
  for (const PlotPoint& point : series.points) {
    const double px = x(Finite(point.x)), py = y(Finite(point.y));
    line += fmt::format("{:.1f},{:.1f} ", px, py);
    dots += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" class=\"{}\"><title>{}</title></circle>\n",
        px, py, series.joined ? 2.5 : 4.5,
        series.hollow ? fmt::format("hollow s{}", Colour(series.colour))
                      : fmt::format("f{}", Colour(series.colour)),
        EscapeHtml(series.label + ": " + point.hint));
  }
  if (!series.joined) return dots;
  return fmt::format("<polyline points=\"{}\" class=\"line s{} d{}\"/>\n", line,
                     Colour(series.colour), Dash(series.colour)) +
         dots;
}

std::string Legend(const std::vector<PlotSeries>& series) {
  std::string out = "<ul class=\"legend\">\n";
  for (const PlotSeries& one : series) {
    if (!one.listed) continue;
    const int colour = Colour(one.colour);
    const std::string mark =
        one.joined ? fmt::format(
                         "<line x1=\"0\" y1=\"5\" x2=\"28\" y2=\"5\" "
                         "class=\"line s{} d{}\"/>",
                         colour, Dash(one.colour))
        : one.hollow
            ? fmt::format("<circle cx=\"14\" cy=\"5\" r=\"4\" class=\"hollow s{}\"/>", colour)
            : fmt::format("<circle cx=\"14\" cy=\"5\" r=\"4.5\" class=\"f{}\"/>", colour);
    out += fmt::format("<li><svg viewBox=\"0 0 28 10\" aria-hidden=\"true\">{}</svg>{}</li>\n",
                       mark, EscapeHtml(one.label));
  }
  return out + "</ul>\n";
}

}  // namespace

std::string BarsSvg(const std::string& title, const std::vector<PlotBar>& bars) {
  constexpr double kRow = 36;
  double most = 1e-9;
  for (const PlotBar& bar : bars) most = std::max(most, Finite(bar.value));
  std::string out = Open(kRow * static_cast<double>(bars.size()) + 4, title);
  for (size_t i = 0; i < bars.size(); ++i) {
    const PlotBar& bar = bars[i];
    const double top = kRow * static_cast<double>(i);
    std::string label = bar.label;
    if (label.size() > kMostLabel) label = label.substr(0, kMostLabel - 3) + "...";
    out += Text(0, top + 13, "start", "", label);
    out += Text(kWidth, top + 13, "end", "", bar.text);
    out += fmt::format(
        "<rect x=\"0\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"12\" rx=\"2\" class=\"f{}\"/>\n",
        top + 18, std::max(1.0, kWidth * Finite(bar.value) / most), Colour(bar.colour));
  }
  return out + "</svg>\n";
}

std::string PointsPlot(const PlotOptions& options, const std::vector<PlotSeries>& series) {
  Scale x = {.least = 0, .most = 1e-9, .from = kLeft, .to = kRight, .log = options.log_x};
  Scale y = {.least = 0, .most = std::max(options.mark_y, 1e-9), .from = kBottom, .to = kTop};
  bool any = false;
  double least_x = 1e300;
  for (const PlotSeries& one : series) {
    for (const PlotPoint& point : one.points) {
      any = true;
      least_x = std::min(least_x, Finite(point.x));
      x.most = std::max(x.most, Finite(point.x));
      y.most = std::max(y.most, Finite(point.y));
    }
  }
  if (!any) return "<p class=\"note\">Nothing to show: no guess was verified.</p>\n";
  if (options.log_x) x.least = std::max(least_x, 1e-9);
  if (!options.x_ticks.empty()) {
    x.least = options.x_ticks.front();
    x.most = options.x_ticks.back();
  }
  if (options.share_x) x.most = 1;
  if (options.share_y) {
    y.most = 1;
  } else {
    y.most *= 1.08;
  }
  if (x.most <= x.least) x.most = x.least + 1;
  std::string out = Legend(series) + Open(kHeight, options.title) + Frame(options, x, y);
  for (const PlotSeries& one : series) out += Drawn(one, x, y);
  return out + "</svg>\n";
}

std::string HeatSvg(const std::string& title, const std::string& columns_label,
                    const std::vector<std::string>& columns, const std::vector<std::string>& rows,
                    const std::vector<std::vector<HeatCell>>& cells) {
  constexpr double kNames = 56, kCell = 26, kHead = 32;
  const double width =
      std::min(44.0, (kWidth - kNames) / static_cast<double>(std::max<size_t>(columns.size(), 1)));
  std::string out = Open(kHead + kCell * static_cast<double>(rows.size()) + 2, title);
  out += Text(kNames, 11, "start", "quiet", columns_label);
  for (size_t column = 0; column < columns.size(); ++column) {
    out += Text(kNames + width * (static_cast<double>(column) + 0.5), 27, "middle",
                width < 24 ? "quiet tiny" : "quiet", columns[column]);
  }
  for (size_t row = 0; row < rows.size(); ++row) {
    const double top = kHead + kCell * static_cast<double>(row);
    out += Text(0, top + 17, "start", "quiet", rows[row]);
    for (size_t column = 0; column < columns.size(); ++column) {
      const HeatCell& cell = cells[row][column];
      const double left = kNames + width * static_cast<double>(column);
      const bool empty = cell.share < 0;
      out += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"{}\" "
          "fill-opacity=\"{:.2f}\"><title>{}</title></rect>\n",
          left + 1, top + 1, width - 2, kCell - 2, empty ? "empty" : "heat",
          0.08 + 0.92 * std::clamp(Finite(cell.share), 0.0, 1.0), EscapeHtml(cell.hint));
      if (empty) continue;
      out += Text(left + width / 2, top + 17, "middle", width < 24 ? "tiny" : "",
                  fmt::format("{:.0f}", 100 * Finite(cell.share)));
    }
  }
  return out + "</svg>\n";
}

}  // namespace hunch

// The plot of `hunch bench rows --svg`: readable alone, on light and on dark.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>

#include "apps/bench_rows_report.h"
#include "base/one_line.h"

namespace hunch {
namespace {

constexpr double kWidth = 760, kHeight = 500;
constexpr double kLeft = 70, kRight = 740, kTop = 116, kBottom = 450;  // of the plot's frame
constexpr size_t kColours = 5;

constexpr std::string_view kStyle = R"(<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2937; }
  .title { font-size: 16px; font-weight: 600; }
  .quiet { fill: #4b5563; font-size: 12px; }
  .paper { fill: #ffffff; }
  .grid { stroke: #d1d5db; stroke-width: 1; }
  .line { fill: none; stroke-width: 2; }
  .limit { fill: none; stroke-width: 1.5; stroke-dasharray: 6 4; }
  .neutral { stroke: #6b7280; }
  .c0 { stroke: #1d4ed8; } .c1 { stroke: #c2410c; } .c2 { stroke: #047857; }
  .c3 { stroke: #7e22ce; } .c4 { stroke: #b91c1c; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e5e7eb; } .quiet { fill: #9ca3af; } .paper { fill: #111827; }
    .grid { stroke: #374151; }
    .c0 { stroke: #60a5fa; } .c1 { stroke: #fb923c; } .c2 { stroke: #34d399; }
    .c3 { stroke: #c084fc; } .c4 { stroke: #f87171; }
  }
</style>
)";

std::string Escape(std::string_view text) {
  std::string out;
  for (const char c : OneLine(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// A logarithmic axis: values to coordinates.
class Axis {
 public:
  Axis(double from, double to) : from_(from), to_(to) {}
  void Take(double value) {
    least_ = std::min(least_, value);
    most_ = std::max(most_, value);
  }
  // A little air at both ends, and never nothing.
  void Widen(double factor) {
    least_ /= factor;
    most_ *= factor;
  }
  bool Has(double value) const { return value >= least_ && value <= most_; }
  double operator()(double value) const {
    return from_ + (to_ - from_) * std::log(value / least_) / std::log(most_ / least_);
  }

 private:
  double from_, to_;  // coordinates of the ends
  double least_ = 1e300, most_ = 1e-300;
};

std::string Text(double x, double y, std::string_view anchor, std::string_view css,
                 const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n",
                     x, y, anchor, css, text);
}

std::string Line(double x1, double y1, double x2, double y2, const std::string& css) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1, y1, x2,
      y2, css);
}

std::string Grid(const Axis& x, const Axis& y) {
  std::string out;
  for (int m = 1; m <= kMostBenchRows; m *= 2) {
    if (!x.Has(m)) continue;
    out += Line(x(m), kTop, x(m), kBottom, "grid");
    out += Text(x(m), kBottom + 18, "middle", "quiet", fmt::format("{}", m));
  }
  for (int power = -4; power <= 6; ++power) {
    for (const int digit : {1, 2, 5}) {
      const double ms = digit * std::pow(10, power);
      if (!y.Has(ms)) continue;
      out += Line(kLeft, y(ms), kRight, y(ms), "grid");
      out += Text(kLeft - 8, y(ms) + 4, "end", "quiet", fmt::format("{:g}", ms));
    }
  }
  out += Text((kLeft + kRight) / 2, kBottom + 38, "middle", "quiet", "M: rows of a pass");
  out += Text(kLeft, kTop - 8, "start", "quiet", "T(M), milliseconds");
  return out;
}

std::string Curves(const RowBenchContext& context, size_t index, const Axis& x, const Axis& y) {
  const std::string colour = fmt::format("c{}", index % kColours);
  std::string measured, limit, dots;
  for (const RowBenchRow& row : context.rows) {
    const double at = x(row.rows), ms = row.seconds * 1e3;
    fmt::format_to(std::back_inserter(measured), "{:.1f},{:.1f} ", at, y(ms));
    fmt::format_to(std::back_inserter(limit), "{:.1f},{:.1f} ", at, y(row.limit.seconds * 1e3));
    fmt::format_to(
        std::back_inserter(dots),
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" class=\"line {}\"><title>context {}, "
        "M = {}: {:.3f} ms, {:.0f} % of the limit</title></circle>\n",
        at, y(ms), colour, context.context, row.rows, ms, 100 * row.limit.seconds / row.seconds);
  }
  const double legend = kTop + 22 + 20 * static_cast<double>(index);
  return fmt::format(
             "<polyline points=\"{}\" class=\"limit {}\"/>\n"
             "<polyline points=\"{}\" class=\"line {}\"/>\n{}",
             limit, colour, measured, colour, dots) +
         Line(kLeft + 14, legend - 4, kLeft + 44, legend - 4, "line " + colour) +
         Text(kLeft + 52, legend, "start", "", fmt::format("context {}", context.context));
}

}  // namespace

std::string RowsSvg(const RowBenchView& view) {
  const RowBenchReport& report = view.report;
  Axis x(kLeft, kRight), y(kBottom, kTop);
  for (const RowBenchContext& context : report.contexts) {
    for (const RowBenchRow& row : context.rows) {
      x.Take(row.rows);
      y.Take(row.seconds * 1e3);
      y.Take(row.limit.seconds * 1e3);
    }
  }
  x.Widen(1.1);
  y.Widen(1.3);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\">\n<title>Time of a pass by its rows</title>\n{2}"
      "<rect width=\"{0}\" height=\"{1}\" class=\"paper\"/>\n",
      kWidth, kHeight, kStyle);
  out += Text(kLeft, 26, "start", "title", "Time of a pass by its rows");
  const std::string file = std::filesystem::path(view.model).filename().string();
  out += Text(kLeft, 46, "start", "quiet", Escape(file));
  out += Text(kLeft, 62, "start", "quiet", Escape(view.cpu));
  out += Text(kLeft, 78, "start", "quiet",
              fmt::format("{}, {} thread{}; reads {:.1f} GB/s, int8 dot {:.0f} GMAC/s", view.isa,
                          report.threads, report.threads == 1 ? "" : "s",
                          report.read_bytes_per_second / 1e9, report.macs_per_second / 1e9));
  out += Grid(x, y);
  for (size_t i = 0; i < report.contexts.size(); ++i) out += Curves(report.contexts[i], i, x, y);
  const double legend = kTop + 22 + 20 * static_cast<double>(report.contexts.size());
  out += Line(kLeft + 14, legend - 4, kLeft + 44, legend - 4, "limit neutral");
  out += Text(kLeft + 52, legend, "start", "",
              "limit: max(bytes / read bandwidth, multiply-adds / dot peak)");
  return out + "</svg>\n";
}

}  // namespace hunch

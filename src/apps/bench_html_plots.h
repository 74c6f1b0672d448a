// The plots of the HTML reports, as inline SVG that takes the page's colours. Labels are plain text
// and are escaped here. Pure functions.
#ifndef HUNCH_APPS_BENCH_HTML_PLOTS_H_
#define HUNCH_APPS_BENCH_HTML_PLOTS_H_

#include <string>
#include <utility>
#include <vector>

namespace hunch {

struct PlotBar {
  std::string label, text;  // text: the value as it is shown
  double value = 0;
  int colour = 0;
};
// Lying bars from 0, each under its label: readable on a narrow screen.
std::string BarsSvg(const std::string& title, const std::vector<PlotBar>& bars);

struct PlotPoint {
  double x = 0, y = 0;
  std::string hint;  // shown when pointed at
};
struct PlotSeries {
  std::string label;
  std::vector<PlotPoint> points = {};
  int colour = 0;
  bool joined = true;   // by lines
  bool hollow = false;  // circles without a filling
  bool listed = true;   // in the legend
};
struct PlotOptions {
  std::string title, x_label, y_label;
  bool log_x = false;             // ticks at powers of two
  bool share_x = false;           // x runs from 0 to 1
  bool share_y = false;           // y runs from 0 to 1
  double mark_y = 0;              // a line across at this value; 0: none
  std::vector<double> x_ticks{};  // empty: chosen
};
// With its legend. Without any point: a sentence that says so.
std::string PointsPlot(const PlotOptions& options, const std::vector<PlotSeries>& series);

struct HeatCell {
  double share = -1;  // 0..1; below 0: nothing was there
  std::string hint;
};
// cells[row][column].
std::string HeatSvg(const std::string& title, const std::string& columns_label,
                    const std::vector<std::string>& columns, const std::vector<std::string>& rows,
                    const std::vector<std::vector<HeatCell>>& cells);

}  // namespace hunch

#endif  // HUNCH_APPS_BENCH_HTML_PLOTS_H_

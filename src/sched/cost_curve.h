// What a pass costs by its number of rows: measured times, made monotone, with straight lines
// between. Values; thread safe as such. How they come about: engine/measure_rows.h.
#ifndef HUNCH_SCHED_COST_CURVE_H_
#define HUNCH_SCHED_COST_CURVE_H_

#include <span>
#include <vector>

namespace hunch {

struct PassTime {
  int rows;  // >= 1
  double seconds;
};

// One time for each number of rows, ascending: the median of its samples.
std::vector<PassTime> MedianTimes(std::vector<PassTime> samples);

// Invariant: points ascend in rows and never fall in seconds.
class CostCurve {
 public:
  // Times in ascending order of rows, at least one. More rows cannot cost less: where noise says
  // so, neighbours are averaged (the monotone points that are nearest by least squares).
  explicit CostCurve(std::span<const PassTime> times);

  // Below the first point: its seconds. Beyond the last: in proportion to the rows, which is what
  // several passes of that size would take.
  double Seconds(int rows) const;
  std::span<const PassTime> points() const { return points_; }

 private:
  std::vector<PassTime> points_;
};

}  // namespace hunch

#endif  // HUNCH_SCHED_COST_CURVE_H_

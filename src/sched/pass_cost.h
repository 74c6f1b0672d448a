// What a pass costs by its rows: a curve measured at load, corrected by what passes really take.
//
// Each number of rows has a level of its own, which its passes move. What slows one pass (a
// neighbour, a longer context) slows the others too: levels that were not seen lately follow half
// the way, and are stale once such hearsay has moved them far. So drift is followed, and a curve
// that was wrong at some number of rows is put right there. One pass, however long it hung, moves a
// level by at most 3 %, a stale one by 15 %; but for the first few, which set the scale.
//
// A value of fixed size (a few doubles per row of the curve); not thread safe.
#ifndef HUNCH_SCHED_PASS_COST_H_
#define HUNCH_SCHED_PASS_COST_H_

#include <cstdint>
#include <vector>

#include "sched/cost_curve.h"

namespace hunch {

class PassCost {
 public:
  explicit PassCost(const CostCurve& measured);

  // rows >= 1. Never falls with rows; beyond the curve in proportion to them.
  double Seconds(int rows) const;
  // A time that cannot be (not above 0) is passed over.
  void Observe(int rows, double seconds);
  // Whether no pass had this many rows yet, or only long ago, or much has changed since.
  bool Stale(int rows) const;

 private:
  struct Pool {  // neighbours that share their mean
    double sum, weight;
    int count;
  };
  void Fit();
  size_t Index(int rows) const;

  std::vector<double> log_levels_;  // [rows - 1], as observed
  std::vector<double> seconds_;     // [rows - 1], the nearest that never falls
  std::vector<double> hearsay_;     // [rows - 1]: how far others moved the level since it was seen
  std::vector<int64_t> last_seen_;  // [rows - 1]: the pass that had so many; 0: none
  std::vector<Pool> pools_;         // scratch of Fit
  int64_t passes_ = 0;
};

}  // namespace hunch

#endif  // HUNCH_SCHED_PASS_COST_H_

// What a drafter's guess is really worth: P(node accepted | its parent accepted), by drafter, depth
// and the drafter's own belief, learned from what the target said.
//
// Three layers, each the prior of the next, with a few tests' weight:
//   the belief itself -> what was seen engine-wide at such temperatures -> what was seen lately in
//   this sequence (it forgets fast: the kind of text changes half-way).
// Beside the cells by belief there is one per depth for all beliefs: for a drafter that has not
// spoken yet, and for tokens that were drawn at random, where the choice of nodes must not look at
// what was drawn (rule `ratio`).
//
// Memory: kCells counts per drafter, per sequence and three times engine-wide. Not thread safe.
#ifndef HUNCH_SCHED_CALIBRATION_H_
#define HUNCH_SCHED_CALIBRATION_H_

#include <array>
#include <cstdint>
#include <vector>

namespace hunch {

// The counts of one drafter. Time is counted in steps in which it was tested: a drafter that is not
// asked forgets nothing.
class AcceptanceTable {
 public:
  static constexpr int kDepths = 5;   // 1, 2, 3-4, 5-8, deeper
  static constexpr int kBeliefs = 8;  // bounds: calibration.cc
  static constexpr float kAnyBelief = -1;

  explicit AcceptanceTable(float half_life) : half_life_(half_life) {}

  // The mean of what was seen and of `prior_weight` tests that went like `prior`.
  float Mean(int depth, float belief, float prior, float prior_weight) const;
  // A node with this belief was tested. Counted for its belief and for any.
  void Add(int depth, float belief, bool accepted);
  // What was seen so far is older by one step.
  void NextStep() { ++now_; }
  // The same by two half-lives.
  void Doubt() { now_ += static_cast<int64_t>(2 * half_life_); }

 private:
  struct Cell {
    float accepted = 0, tests = 0;  // as of `when`
    int64_t when = 0;
  };
  static int Index(int depth, float belief);
  float Fading(const Cell& cell) const;

  float half_life_;  // in steps
  int64_t now_ = 0;
  std::array<Cell, kDepths*(kBeliefs + 1)> cells_;
};

// Engine-wide: one table per drafter and class of temperature.
class SharedCalibration {
 public:
  static constexpr int kClasses = 3;  // 0, up to 0.7, above: acceptance falls as T rises
  static int ClassOf(float temperature);
  AcceptanceTable& Table(int drafter, int temperature_class);

 private:
  std::vector<std::array<AcceptanceTable, kClasses>> tables_;  // [drafters seen]
};

// Of one sequence.
class Calibration {
 public:
  // drafters: their numbers engine-wide. `shared` must outlive this.
  Calibration(SharedCalibration& shared, const std::vector<int>& drafters, float temperature);

  // The probability that a node of `drafter` (an index into `drafters`) is accepted once its parent
  // is. depth: 1 for a root. belief: AcceptanceTable::kAnyBelief if unknown.
  float Acceptance(int drafter, int depth, float belief) const;
  void Add(int drafter, int depth, float belief, bool accepted);
  // After all of a step's tests of this drafter.
  void NextStep(int drafter);
  // What was seen lately of a drafter seems to hold no longer.
  void Doubt(int drafter) { lately_[drafter].Doubt(); }

 private:
  SharedCalibration& shared_;
  int class_;
  std::vector<int> shared_ids_;          // [drafters]
  std::vector<AcceptanceTable> lately_;  // [drafters]
};

}  // namespace hunch

#endif  // HUNCH_SCHED_CALIBRATION_H_

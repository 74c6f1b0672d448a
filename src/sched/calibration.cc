#include "sched/calibration.h"

#include <algorithm>
#include <cmath>

namespace hunch {
namespace {

constexpr float kBeliefBounds[AcceptanceTable::kBeliefs - 1] = {0.15f, 0.3f,  0.5f, 0.7f,
                                                                0.85f, 0.95f, 0.99f};
constexpr float kSharedHalfLife = 1024;
constexpr float kLatelyHalfLife = 64;
// Tests that a prior counts for.
constexpr float kBeliefWeight = 8;
constexpr float kSharedWeight = 8;
// Of a drafter that nobody knows yet.
constexpr float kUnknownAcceptance = 0.7f;
// Nothing is certain: a tree of certain guesses would have no end.
constexpr float kLeast = 0.002f, kMost = 0.995f;

}  // namespace

int AcceptanceTable::Index(int depth, float belief) {
  const int d = depth <= 2 ? depth - 1 : depth <= 4 ? 2 : depth <= 8 ? 3 : 4;
  int b = kBeliefs;
  if (belief >= 0) {
    b = static_cast<int>(
        std::upper_bound(std::begin(kBeliefBounds), std::end(kBeliefBounds), belief) -
        std::begin(kBeliefBounds));
  }
  return d * (kBeliefs + 1) + b;
}

float AcceptanceTable::Fading(const Cell& cell) const {
  return std::exp2(-static_cast<float>(now_ - cell.when) / half_life_);
}

float AcceptanceTable::Mean(int depth, float belief, float prior, float prior_weight) const {
  const Cell& cell = cells_[Index(depth, belief)];
  const float fading = Fading(cell);
  return (prior * prior_weight + cell.accepted * fading) / (prior_weight + cell.tests * fading);
}

void AcceptanceTable::Add(int depth, float belief, bool accepted) {
  for (const float b : {belief, kAnyBelief}) {
    Cell& cell = cells_[Index(depth, b)];
    const float fading = Fading(cell);
    cell = {cell.accepted * fading + (accepted ? 1.0f : 0.0f), cell.tests * fading + 1, now_};
  }
}

int SharedCalibration::ClassOf(float temperature) {
  return temperature == 0 ? 0 : temperature <= 0.7f ? 1 : 2;
}

AcceptanceTable& SharedCalibration::Table(int drafter, int temperature_class) {
  const AcceptanceTable fresh(kSharedHalfLife);
  while (static_cast<int>(tables_.size()) <= drafter) tables_.push_back({fresh, fresh, fresh});
  return tables_[drafter][temperature_class];
}

Calibration::Calibration(SharedCalibration& shared, const std::vector<int>& drafters,
                         float temperature)
    : shared_(shared),
      class_(SharedCalibration::ClassOf(temperature)),
      shared_ids_(drafters),
      lately_(drafters.size(), AcceptanceTable(kLatelyHalfLife)) {
  for (const int id : shared_ids_) shared_.Table(id, class_);  // made now, not in a step
}

float Calibration::Acceptance(int drafter, int depth, float belief) const {
  float first = belief >= 0 ? std::min(belief, 1.0f) : kUnknownAcceptance;
  if (depth > 1) {
    first = Acceptance(drafter, depth <= 2 ? 1 : depth <= 4 ? 2 : depth <= 8 ? 4 : 8, belief);
  }
  const AcceptanceTable& shared = shared_.Table(shared_ids_[drafter], class_);
  const float usual = shared.Mean(depth, belief, first, kBeliefWeight);
  return std::clamp(lately_[drafter].Mean(depth, belief, usual, kSharedWeight), kLeast, kMost);
}

void Calibration::Add(int drafter, int depth, float belief, bool accepted) {
  belief = belief >= 0 ? std::min(belief, 1.0f) : 0.0f;
  shared_.Table(shared_ids_[drafter], class_).Add(depth, belief, accepted);
  lately_[drafter].Add(depth, belief, accepted);
}

void Calibration::NextStep(int drafter) {
  shared_.Table(shared_ids_[drafter], class_).NextStep();
  lately_[drafter].NextStep();
}

}  // namespace hunch

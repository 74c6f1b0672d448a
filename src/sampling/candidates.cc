#include "sampling/candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/ops.h"
#include "sampling/speed_only.h"

namespace hunch {
namespace {

constexpr float kMassUnit = 1099511627776.0f;  // 2^40: the best token's mass
// exp(-27.75) * 2^40 < 1: no token below this has mass.
constexpr float kLeastWithMass = -27.75f;

uint64_t MassOf(float exp_z) { return static_cast<uint64_t>(exp_z * kMassUnit); }

// Every token that top-p can keep of a whole row is above this: the tokens below have, all
// together, less mass than the 1 - top_p of the best token's mass that top-p may drop.
float TopPFloor(float top_p, int tokens) {
  return Log((1.0f - top_p) / static_cast<float>(tokens));
}

}  // namespace

const float Truncation::kNoFloor = std::numeric_limits<float>::lowest();

Truncation::Truncation(const SamplingParams& params)
    : top_k(std::max(params.top_k, 0)),
      min_z(params.min_p > 0 ? std::max(Log(params.min_p), kNoFloor) : kNoFloor),
      top_p(params.top_p),
      typical_p(params.typical_p) {}

uint64_t Mass(float z) { return z >= kLeastWithMass ? MassOf(Exp(z)) : 0; }

uint64_t TotalMass(const RelativeRow& row) {
  uint64_t total = 0;
  float z[RelativeRow::kBlock];
  for (int block = 0; block < row.blocks(); ++block) {
    if (!(row.block_z(block) >= kLeastWithMass)) continue;
    const int n = row.block_size(block);
    for (int i = 0; i < n; ++i) {
      const float value = row.z(block * RelativeRow::kBlock + i);
      // A finite stand-in without mass for NaN and minus infinity.
      z[i] = value >= kLeastWithMass ? value : -64.0f;
    }
    ExpRow(z, n, z);
    for (int i = 0; i < n; ++i) total += MassOf(z[i]);
  }
  return total;
}

void Candidates::Gather(const RelativeRow& row, float floor) {
  ids_.clear();
  z_.clear();
  for (int block = 0; block < row.blocks(); ++block) {
    if (!(row.block_z(block) >= floor)) continue;
    const int first = block * RelativeRow::kBlock;
    for (int id = first; id < first + row.block_size(block); ++id) {
      const float z = row.z(id);
      if (z >= floor) {
        ids_.push_back(id);
        z_.push_back(z);
      }
    }
  }
}

void Candidates::Select(RelativeRow& row, const Truncation& truncation) {
  float floor = truncation.min_z;
  const bool truncated = truncation.top_k > 0 || floor > Truncation::kNoFloor;
  if (truncated) {
    // SPEED ONLY: what the k-th best block maximum excludes is not even gathered.
    if (kTakeSpeedOnlyBranches && truncation.top_k > 0 && truncation.top_k <= row.blocks()) {
      floor = std::max(floor, row.FloorOfBest(truncation.top_k));
    }
    Gather(row, floor);
    if (truncation.top_k > 0) KeepBest(truncation.top_k);
  }
  if (truncation.weighs()) SelectByMass(row, truncation, truncated);
}

void Candidates::SelectBest(RelativeRow& row, int count) {
  float floor = Truncation::kNoFloor;
  // SPEED ONLY: as in Select.
  if (kTakeSpeedOnlyBranches && count <= row.blocks()) floor = row.FloorOfBest(count);
  Gather(row, std::max(floor, Truncation::kNoFloor));
  KeepBest(count);
}

void Candidates::SelectByMass(RelativeRow& row, const Truncation& truncation, bool truncated) {
  const auto better = [this](int32_t a, int32_t b) {
    return z_[a] != z_[b] ? z_[a] > z_[b] : ids_[a] < ids_[b];
  };
  if (truncated) {
    Weigh();
    if (truncation.top_p < 1) KeepMass(truncation.top_p, SumOfMass(), better);
  } else if (truncation.top_p < 1) {
    const uint64_t total = TotalMass(row);
    // SPEED ONLY: gather what the bound leaves; if rounding made it too tight, gather all that has
    // mass.
    const float bound =
        kTakeSpeedOnlyBranches ? TopPFloor(truncation.top_p, row.size()) : kLeastWithMass;
    Gather(row, std::max(bound, kLeastWithMass));
    Weigh();
    if (static_cast<double>(SumOfMass()) <
        static_cast<double>(truncation.top_p) * static_cast<double>(total)) {
      Gather(row, kLeastWithMass);
      Weigh();
    }
    KeepMass(truncation.top_p, total, better);
  } else {
    Gather(row, kLeastWithMass);
    Weigh();
  }
  if (truncation.typical_p < 1) KeepTypical(truncation.typical_p);
}

// Fills mass_ and drops the candidates without mass.
void Candidates::Weigh() {
  exp_.resize(ids_.size());
  for (size_t i = 0; i < z_.size(); ++i) exp_[i] = z_[i] >= kLeastWithMass ? z_[i] : -64.0f;
  ExpRow(exp_.data(), static_cast<int64_t>(exp_.size()), exp_.data());
  mass_.clear();
  size_t kept = 0;
  for (size_t i = 0; i < ids_.size(); ++i) {
    const uint64_t mass = MassOf(exp_[i]);
    if (mass == 0) continue;
    mass_.push_back(mass);
    ids_[kept] = ids_[i];
    z_[kept++] = z_[i];
  }
  ids_.resize(kept);
  z_.resize(kept);
}

uint64_t Candidates::SumOfMass() const {
  return std::accumulate(mass_.begin(), mass_.end(), uint64_t{0});
}

void Candidates::KeepBest(int count) {
  if (count >= size()) return;
  const auto better = [this](int32_t a, int32_t b) {
    return z_[a] != z_[b] ? z_[a] > z_[b] : ids_[a] < ids_[b];
  };
  mass_.clear();
  order_.resize(ids_.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::nth_element(order_.begin(), order_.begin() + (count - 1), order_.end(), better);
  KeepUpTo(order_[count - 1], better);
}

void Candidates::KeepTypical(float typical_p) {
  const uint64_t total = SumOfMass();
  // In ascending id, in double: the same bits everywhere.
  double weighted = 0;
  for (int i = 0; i < size(); ++i)
    weighted += static_cast<double>(mass_[i]) * static_cast<double>(z_[i]);
  const float mean = static_cast<float>(weighted / static_cast<double>(total));
  distance_.resize(z_.size());
  for (size_t i = 0; i < z_.size(); ++i) distance_[i] = std::fabs(z_[i] - mean);
  KeepMass(typical_p, total, [this](int32_t a, int32_t b) {
    if (distance_[a] != distance_[b]) return distance_[a] < distance_[b];
    return z_[a] != z_[b] ? z_[a] > z_[b] : ids_[a] < ids_[b];
  });
}

// Keeps the fewest first candidates (at least one) whose mass reaches share * total. A weighted
// quickselect: each round decides on which side of the middle the mass is reached, O(candidates) in
// all.
template <typename Before>
void Candidates::KeepMass(double share, uint64_t total, Before before) {
  const uint64_t wanted = static_cast<uint64_t>(share * static_cast<double>(total));
  order_.resize(ids_.size());
  std::iota(order_.begin(), order_.end(), 0);
  auto low = order_.begin();
  auto high = order_.end();
  uint64_t before_low = 0;
  while (high - low > 1) {
    const auto middle = low + (high - low) / 2;
    std::nth_element(low, middle, high, before);
    const uint64_t reached = std::accumulate(
        low, middle, before_low, [this](uint64_t sum, int32_t i) { return sum + mass_[i]; });
    if (reached >= wanted) {
      high = middle;
    } else {
      before_low = reached;
      low = middle;
    }
  }
  if (low != high) KeepUpTo(*low, before);
}

// Drops the candidates behind `last` in the order, and keeps ids ascending.
template <typename Before>
void Candidates::KeepUpTo(int32_t last, Before before) {
  // Whom to keep is decided before anything moves: `before` reads the arrays.
  for (int32_t i = 0; i < size(); ++i) order_[i] = !before(last, i);
  size_t kept = 0;
  for (size_t i = 0; i < ids_.size(); ++i) {
    if (!order_[i]) continue;
    ids_[kept] = ids_[i];
    z_[kept] = z_[i];
    if (!mass_.empty()) mass_[kept] = mass_[i];
    ++kept;
  }
  ids_.resize(kept);
  z_.resize(kept);
  if (!mass_.empty()) mass_.resize(kept);
}

}  // namespace hunch

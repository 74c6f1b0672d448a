#include "sampling/candidates.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "kernels/ops.h"
#include "kernels/row_ops.h"
#include "sampling/speed_only.h"

namespace hunch {
namespace {

constexpr int kBucketShift = 19;  // sign, eight bits of exponent, four of mantissa
constexpr size_t kBuckets = size_t{1} << (31 - kBucketShift);

// share of total, in units of mass.
uint64_t Share(float share, uint64_t total) {
  return static_cast<uint64_t>(static_cast<double>(share) * static_cast<double>(total));
}

}  // namespace

const float Truncation::kNoFloor = std::numeric_limits<float>::lowest();

Truncation::Truncation(const SamplingParams& params)
    : top_k(std::max(params.top_k, 0)),
      min_z(params.min_p > 0 ? std::max(Log(params.min_p), kNoFloor) : kNoFloor),
      top_p(params.top_p),
      typical_p(params.typical_p) {}

uint64_t Mass(float z) { return z >= kLeastWithMass ? MassOfExp(Exp(z)) : 0; }

void Candidates::Reserve(int tokens) {
  ids_.reserve(tokens);
  z_.reserve(tokens);
  mass_.reserve(tokens);
  rank_.reserve(tokens);
  ones_.reserve(tokens);
  keys_.reserve(tokens);
  exp_.reserve(tokens);
  buckets_.reserve(kBuckets);
}

void Candidates::Gather(const RelativeRow& row, float floor) {
  mass_.clear();
  row.Gather(floor, ids_, z_);
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
  const float top_p = truncation.top_p;
  if (truncated) {
    Weigh();
    if (top_p < 1) KeepTopP(top_p, SumOfMass());
  } else if (top_p < 1) {
    const uint64_t total = row.mass();
    GatherMass(row, Share(top_p, total));
    KeepTopP(top_p, total);
  } else {
    Gather(row, kLeastWithMass);
    Weigh();
  }
  if (truncation.typical_p < 1) KeepTypical(truncation.typical_p);
}

// The first tokens of z's order, so many that they have at least the wanted mass; all that have any
// if those have less.
void Candidates::GatherMass(const RelativeRow& row, uint64_t wanted) {
  // SPEED ONLY: what lies above a floor comes first in the order, so once it has the mass that is
  // wanted, nothing below matters. Few rows need more than the first floors: gathering all
  // that could matter at once took 200 of 230 us on SmolLM2's flat rows.
  constexpr float kFloors[] = {-2, -5, -9, -13, kLeastWithMass};
  for (const float floor : kFloors) {
    if (!kTakeSpeedOnlyBranches && floor > kLeastWithMass) continue;
    Gather(row, floor);
    Weigh();
    if (SumOfMass() >= wanted) break;
  }
}

void Candidates::GatherAtLeastTopP(const RelativeRow& row, float top_p) {
  const MassBounds total = row.mass_bounds();
  surely_wanted_ = Share(top_p, total.least);
  GatherMass(row, Share(top_p, total.most));
}

int Candidates::best() const {
  return static_cast<int>(std::max_element(z_.begin(), z_.end()) - z_.begin());
}

bool Candidates::SurelyInTopP(int32_t id) const {
  const size_t at = std::lower_bound(ids_.begin(), ids_.end(), id) - ids_.begin();
  uint64_t before = 0;
  for (size_t i = 0; i < ids_.size(); ++i) {
    if (z_[i] > z_[at] || (z_[i] == z_[at] && i < at)) before += mass_[i];
  }
  return before == 0 || before < surely_wanted_;
}

// Fills mass_ and drops the candidates without mass.
void Candidates::Weigh() {
  exp_.resize(ids_.size());
  for (size_t i = 0; i < z_.size(); ++i) exp_[i] = z_[i] >= kLeastWithMass ? z_[i] : -64.0f;
  ExpRow(exp_.data(), static_cast<int64_t>(exp_.size()), exp_.data());
  mass_.clear();
  size_t kept = 0;
  for (size_t i = 0; i < ids_.size(); ++i) {
    const uint64_t mass = MassOfExp(exp_[i]);
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

void Candidates::RankByZ() {
  rank_.resize(z_.size());
  for (size_t i = 0; i < z_.size(); ++i) rank_[i] = std::fabs(z_[i]);
}

void Candidates::KeepBest(int count) {
  if (count >= size()) return;
  RankByZ();
  ones_.assign(ids_.size(), 1);
  KeepFirst(ones_, static_cast<uint64_t>(count));
}

void Candidates::KeepTopP(float top_p, uint64_t total) {
  RankByZ();
  // The total is another kernel's sum: should one of the two be replaced at start-up, they still
  // meet.
  KeepFirst(mass_, std::min(Share(top_p, total), SumOfMass()));
}

void Candidates::KeepTypical(float typical_p) {
  const uint64_t total = SumOfMass();
  // In ascending id, in double: the same bits everywhere.
  double weighted = 0;
  for (size_t i = 0; i < z_.size(); ++i) {
    weighted += static_cast<double>(mass_[i]) * static_cast<double>(z_[i]);
  }
  const float mean = static_cast<float>(weighted / static_cast<double>(total));
  rank_.resize(z_.size());
  for (size_t i = 0; i < z_.size(); ++i) rank_[i] = std::fabs(z_[i] - mean);
  KeepFirst(mass_, Share(typical_p, total));
}

// Keeps the fewest first candidates, by (rank, id), whose weight reaches `wanted`; at least one.
void Candidates::KeepFirst(const std::vector<uint64_t>& weight, uint64_t wanted) {
  if (ids_.empty()) return;
  const size_t last = LastOfFirst(weight, std::max<uint64_t>(wanted, 1));
  const float last_rank = rank_[last];
  size_t kept = 0;
  for (size_t i = 0; i < ids_.size(); ++i) {
    if (rank_[i] > last_rank || (rank_[i] == last_rank && i > last)) continue;
    ids_[kept] = ids_[i];
    z_[kept] = z_[i];
    if (!mass_.empty()) mass_[kept] = mass_[i];
    ++kept;
  }
  ids_.resize(kept);
  z_.resize(kept);
  if (!mass_.empty()) mass_.resize(kept);
}

// Index of the candidate with which the first ones reach `wanted`: above 0, at most their sum.
size_t Candidates::LastOfFirst(const std::vector<uint64_t>& weight, uint64_t wanted) {
  // A rank is not negative, so its bits are in its order; sixteen buckets per power of two.
  const auto bucket = [this](size_t i) {
    return std::bit_cast<uint32_t>(rank_[i]) >> kBucketShift;
  };
  buckets_.assign(kBuckets, 0);
  for (size_t i = 0; i < rank_.size(); ++i) buckets_[bucket(i)] += weight[i];
  uint64_t before = 0;
  size_t chosen = 0;
  while (chosen + 1 < kBuckets && before + buckets_[chosen] < wanted) before += buckets_[chosen++];
  keys_.clear();  // rank and index in one number
  for (size_t i = 0; i < rank_.size(); ++i) {
    if (bucket(i) == chosen) keys_.push_back(uint64_t{std::bit_cast<uint32_t>(rank_[i])} << 32 | i);
  }
  HUNCH_CHECK(!keys_.empty()) << "wanted " << wanted;
  // Inside the bucket a weighted quickselect: each round says on which side of the middle `wanted`
  // is reached.
  auto low = keys_.begin(), high = keys_.end();
  while (high - low > 1) {
    const auto middle = low + (high - low) / 2;
    std::nth_element(low, middle, high);
    uint64_t reached = before;
    for (auto key = low; key != middle; ++key) reached += weight[static_cast<uint32_t>(*key)];
    if (reached >= wanted) {
      high = middle;
    } else {
      before = reached;
      low = middle;
    }
  }
  return static_cast<uint32_t>(*low);
}

}  // namespace hunch

// The tokens that min-p, top-k, top-p and typical sampling leave of a row, in this order.
//
// Each truncation keeps the first tokens of a strict order, so what is kept does not depend on how
// it is found. The order is z descending, except for typical; equals go by ascending id.
// Probability mass is counted in integers, floor(exp(z) * 2^40): their sum is exact, so it has no
// order, and the selection can work on parts. A token with less than 2^-40 of the best token's
// probability has no mass; top-p and typical drop it.
//   min-p    exp(z) >= min_p, decided as z >= log(min_p)
//   top-k    the k first
//   top-p    the fewest first tokens that together have top_p of the mass left by min-p and top-k
//   typical  (arXiv 2202.00666) the fewest first tokens, in ascending order of |z - mean z| (which
//   is
//            |-log p - entropy|), that have typical_p of the mass left by top-p
// Not thread safe.
#ifndef HUNCH_SAMPLING_CANDIDATES_H_
#define HUNCH_SAMPLING_CANDIDATES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hunch/sampling_params.h"
#include "sampling/relative_row.h"

namespace hunch {

struct Truncation {
  explicit Truncation(const SamplingParams& params);
  bool any() const { return top_k > 0 || min_z > kNoFloor || weighs(); }
  // Whether a truncation needs probability mass.
  bool weighs() const { return top_p < 1 || typical_p < 1; }
  bool only_top_p() const { return top_p < 1 && typical_p >= 1 && top_k == 0 && min_z <= kNoFloor; }

  static const float kNoFloor;  // the least finite float
  int top_k;                    // 0: off
  float min_z;                  // log(min_p); kNoFloor: off
  float top_p;
  float typical_p;
};

// Mass of one token.
uint64_t Mass(float z);
// The same from exp(z): the best token has 2^40.
inline uint64_t MassOfExp(float exp_z) { return static_cast<uint64_t>(exp_z * 0x1p40f); }

class Candidates {
 public:
  // So that selecting from rows of `tokens` allocates nothing; untouched, it costs no memory.
  void Reserve(int tokens);
  // Never leaves nothing of a row that is not empty.
  void Select(RelativeRow& row, const Truncation& truncation);
  // Top-p without the row's exact mass, which is half of its cost: at least the tokens that top-p
  // alone keeps, and whether one of them (that is here) surely is among those.
  void GatherAtLeastTopP(const RelativeRow& row, float top_p);
  bool SurelyInTopP(int32_t id) const;
  // The count best tokens (z descending, id ascending), in ascending id; fewer if fewer can be
  // chosen.
  void SelectBest(RelativeRow& row, int count);

  int size() const { return static_cast<int>(ids_.size()); }
  int32_t id(int i) const { return ids_[i]; }  // ascending in i
  float z(int i) const { return z_[i]; }
  const float* z() const { return z_.data(); }  // [size()]
  int best() const;                             // the index of the first in the order; 0 of none

 private:
  void Gather(const RelativeRow& row, float floor);
  void GatherMass(const RelativeRow& row, uint64_t wanted);
  void SelectByMass(RelativeRow& row, const Truncation& truncation, bool truncated);
  void Weigh();
  uint64_t SumOfMass() const;
  void KeepBest(int count);
  void KeepTopP(float top_p, uint64_t total);
  void KeepTypical(float typical_p);
  void RankByZ();
  void KeepFirst(const std::vector<uint64_t>& weight, uint64_t wanted);
  size_t LastOfFirst(const std::vector<uint64_t>& weight, uint64_t wanted);

  // One entry per candidate, ascending ids.
  std::vector<int32_t> ids_;
  std::vector<float> z_;
  std::vector<uint64_t> mass_;  // filled by Weigh, else empty
  uint64_t surely_wanted_ = 0;  // by GatherAtLeastTopP: top_p of the least mass of the row
  std::vector<float> rank_;     // not negative; the smallest are kept
  // Scratch.
  std::vector<uint64_t> ones_;
  std::vector<uint64_t> buckets_;
  std::vector<uint64_t> keys_;
  std::vector<float> exp_;
};

}  // namespace hunch

#endif  // HUNCH_SAMPLING_CANDIDATES_H_

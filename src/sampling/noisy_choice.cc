#include "sampling/noisy_choice.h"

#include <limits>

#include "kernels/ops.h"
#include "sampling/speed_only.h"

namespace hunch {
namespace {

// No noise is larger: w >= 2^-33 gives G <= 33 log 2 = 22.88.
constexpr float kMostNoise = 23.0f;
constexpr int kBlock = RelativeRow::kBlock;

void Noise(const NoiseKey& key, int first, int n, float* out) {
  GumbelRow(key.seed, key.choice, key.position, first, n, out);
}

// Rounding is monotone, so z + G <= z + kMostNoise holds for the rounded sums too.
bool CanWin(float z, const TopList& top) {
  // SPEED ONLY: what cannot reach the list needs no noise.
  return !kTakeSpeedOnlyBranches || z + kMostNoise >= top.floor();
}

void OfferBlock(const RelativeRow& row, int block, const NoiseKey& key, TopList& top) {
  const float block_z = row.block_z(block);
  if (!(block_z >= Truncation::kNoFloor) || !CanWin(block_z, top)) return;
  const int first = block * kBlock;
  const int n = row.block_size(block);
  float noise[kBlock];
  Noise(key, first, n, noise);
  for (int i = 0; i < n; ++i) {
    const float z = row.z(first + i);
    // NaN and minus infinity are not on offer.
    if (z >= Truncation::kNoFloor && z + noise[i] >= top.floor())
      top.Offer(first + i, z + noise[i]);
  }
}

}  // namespace

void OfferNoisyRow(const RelativeRow& row, const NoiseKey& key, TopList& top) {
  // SPEED ONLY: the best token's block first, so that the bound is tight from the start.
  const int first = kTakeSpeedOnlyBranches ? row.best_block() : 0;
  OfferBlock(row, first, key, top);
  for (int block = 0; block < row.blocks(); ++block) {
    if (block != first) OfferBlock(row, block, key, top);
  }
}

void OfferNoisyCandidates(const Candidates& candidates, const NoiseKey& key, TopList& top) {
  constexpr int kWholeBlockFrom = 8;  // of 64: from here on one vector pass beats single tokens
  float noise[kBlock];
  for (int i = 0; i < candidates.size();) {
    const int first = candidates.id(i) / kBlock * kBlock;
    int end = i + 1;
    while (end < candidates.size() && candidates.id(end) < first + kBlock) ++end;
    // SPEED ONLY: one call for the block, or one for each token.
    const bool whole = kTakeSpeedOnlyBranches && end - i >= kWholeBlockFrom;
    if (whole) Noise(key, first, candidates.id(end - 1) - first + 1, noise);
    for (; i < end; ++i) {
      const int id = candidates.id(i);
      if (!whole) {
        if (!CanWin(candidates.z(i), top)) continue;
        Noise(key, id, 1, noise + (id - first));
      }
      top.Offer(id, candidates.z(i) + noise[id - first]);
    }
  }
}

}  // namespace hunch

#include "sampling/noisy_choice.h"

#include <algorithm>
#include <cmath>

#include "kernels/ops.h"
#include "kernels/row_ops.h"
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

// Every token of the block, given its noise.
void OfferTokens(const RelativeRow& row, int block, const float* noise, TopList& top) {
  const int first = block * kBlock;
  const int n = row.block_size(block);
  for (int i = 0; i < n; ++i) {
    const float z = row.z(first + i);
    // NaN and minus infinity are not on offer.
    if (z >= Truncation::kNoFloor && z + noise[i] >= top.floor())
      top.Offer(first + i, z + noise[i]);
  }
}

void OfferBlock(const RelativeRow& row, int block, const NoiseKey& key, TopList& top) {
  const float block_z = row.block_z(block);
  if (!(block_z >= Truncation::kNoFloor) || !CanWin(block_z, top)) return;
  const int first = block * kBlock;
  const int n = row.block_size(block);
  float noise[kBlock];
  Noise(key, first, n, noise);
  OfferTokens(row, block, noise, top);
}

// most_word[n]: no Philox word above it makes a token of block first + i reach the list. A word of
// w 2^32 gives G = -log(-log(1 - w)), so G >= g means w <= 1 - exp(-u) <= u, u = e^-g; u is taken
// 0.1 % too large, which is more than all roundings.
void MostWords(const RelativeRow& row, const TopList& top, int first, int n, float* most_word) {
  // Absolute for Exp's and the noise's roundings, relative for those of z + G where T is tiny.
  const float slack = 1e-3f + 1e-6f * std::fabs(top.floor());
  for (int i = 0; i < n; ++i) {
    const float lacking = top.floor() - slack - row.block_z(first + i);
    most_word[i] = lacking < 64 ? -lacking : -64.0f;  // NaN: the block has no token to choose
  }
  ExpRow(most_word, n, most_word);
  for (int i = 0; i < n; ++i) most_word[i] = most_word[i] * 0x1p32f + 256.0f;
}

}  // namespace

void OfferNoisyRow(const RelativeRow& row, const NoiseKey& key, TopList& top) {
  if (!kTakeSpeedOnlyBranches) {
    for (int block = 0; block < row.blocks(); ++block) OfferBlock(row, block, key, top);
    return;
  }
  // SPEED ONLY: the best token's block first, so that the bound is tight from the start; of every
  // other block only the Philox words, unless one of them is small enough to win.
  OfferBlock(row, row.best_block(), key, top);
  constexpr int kPiece = 128;  // blocks between two looks at how high the list has risen
  float most_word[kPiece], noise[kBlock];
  for (int begin = 0; begin < row.blocks(); begin += kPiece) {
    const int n = std::min(kPiece, row.blocks() - begin);
    MostWords(row, top, begin, n, most_word);
    for (int block = begin; block < begin + n; ++block) {
      const float block_z = row.block_z(block);
      if (block == row.best_block() || !CanWin(block_z, top)) continue;
      if (GumbelBlock(key.seed, key.choice, key.position, int64_t{block} * kBlock,
                      most_word[block - begin], noise)) {
        OfferTokens(row, block, noise, top);
      }
    }
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

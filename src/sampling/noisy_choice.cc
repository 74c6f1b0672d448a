#include "sampling/noisy_choice.h"

#include <algorithm>
#include <cmath>

#include "base/philox.h"
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

// most_word[n], from z[n]: no Philox word above it lifts a token of that z, or less, to the list. A
// word of w 2^32 gives G = -log(-log(1 - w)), so G >= g means w <= 1 - exp(-u) <= u, u = e^-g; u is
// taken 0.1 % too large, which is more than all roundings.
void MostWords(const float* z, int n, const TopList& top, float* most_word) {
  // Absolute for Exp's and the noise's roundings, relative for those of z + G where T is tiny.
  const float slack = 1e-3f + 1e-6f * std::fabs(top.floor());
  for (int i = 0; i < n; ++i) {
    const float lacking = top.floor() - slack - z[i];
    most_word[i] = lacking < 64 ? -lacking : -64.0f;  // NaN: no token to choose
  }
  ExpRow(most_word, n, most_word);
  for (int i = 0; i < n; ++i) most_word[i] = most_word[i] * 0x1p32f + 256.0f;
}

// The Philox word behind a token's noise, as GumbelRow takes it.
uint32_t Word(const NoiseKey& key, int id) {
  const auto u32 = [](uint64_t bits) { return static_cast<uint32_t>(bits); };
  const PhiloxCounter counter = {static_cast<uint32_t>(id) >> 2, key.choice, u32(key.position),
                                 u32(key.position >> 32)};
  return Philox4x32(counter, {u32(key.seed), u32(key.seed >> 32)})[id % 4];
}

void OfferCandidate(const Candidates& candidates, int i, const NoiseKey& key, TopList& top) {
  float noise;
  Noise(key, candidates.id(i), 1, &noise);
  top.Offer(candidates.id(i), candidates.z(i) + noise);
}

// The candidates [begin, end) of one block; most_word[end - begin] as MostWords gives it.
void OfferCandidates(const Candidates& candidates, int begin, int end, const float* most_word,
                     const NoiseKey& key, TopList& top) {
  constexpr int kWholeBlockFrom = 8;  // of 64: where so many stand close, one vector pass is faster
  if (end - begin < kWholeBlockFrom) {
    for (int i = begin; i < end; ++i) {
      if (static_cast<float>(Word(key, candidates.id(i))) > most_word[i - begin]) continue;
      OfferCandidate(candidates, i, key, top);
    }
    return;
  }
  const int first = candidates.id(begin) / kBlock * kBlock;
  const float most = *std::max_element(most_word, most_word + (end - begin));
  float noise[kBlock];
  if (!GumbelBlock(key.seed, key.choice, key.position, first, most, noise)) return;
  for (int i = begin; i < end; ++i) {
    const int id = candidates.id(i);
    top.Offer(id, candidates.z(i) + noise[id - first]);
  }
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
  float block_z[kPiece], most_word[kPiece], noise[kBlock];
  for (int begin = 0; begin < row.blocks(); begin += kPiece) {
    const int n = std::min(kPiece, row.blocks() - begin);
    for (int i = 0; i < n; ++i) block_z[i] = row.block_z(begin + i);
    MostWords(block_z, n, top, most_word);
    for (int block = begin; block < begin + n; ++block) {
      if (block == row.best_block() || !CanWin(block_z[block - begin], top)) continue;
      if (GumbelBlock(key.seed, key.choice, key.position, int64_t{block} * kBlock,
                      most_word[block - begin], noise)) {
        OfferTokens(row, block, noise, top);
      }
    }
  }
}

void OfferNoisyCandidates(const Candidates& candidates, const NoiseKey& key, TopList& top) {
  const int size = candidates.size();
  if (!kTakeSpeedOnlyBranches) {
    for (int i = 0; i < size; ++i) OfferCandidate(candidates, i, key, top);
    return;
  }
  // SPEED ONLY: the best candidate first, as in OfferNoisyRow; then of every candidate only the
  // word, unless it is small enough to win.
  if (size > 0) OfferCandidate(candidates, candidates.best(), key, top);
  constexpr int kPiece = 128;
  float most_word[kPiece];
  for (int piece = 0; piece < size; piece += kPiece) {
    const int n = std::min(kPiece, size - piece);
    MostWords(candidates.z() + piece, n, top, most_word);
    for (int begin = piece, end; begin < piece + n; begin = end) {
      const int block = candidates.id(begin) / kBlock;
      for (end = begin + 1; end < piece + n && candidates.id(end) / kBlock == block; ++end) {
      }
      OfferCandidates(candidates, begin, end, most_word + (begin - piece), key, top);
    }
  }
}

}  // namespace hunch

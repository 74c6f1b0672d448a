#include "sampling/top_tokens.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/check.h"
#include "kernels/row_ops.h"
#include "sampling/speed_only.h"

namespace hunch {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();

// The best few of what it is offered in ascending order of id: best first, and of equals the first
// offered.
class Best {
 public:
  explicit Best(int count) : count_(count) { scores_.fill(kLowest); }

  // What is not above this changes nothing.
  float floor() const { return scores_[count_ - 1]; }
  // score > floor().
  void Insert(float score, TokenId token) {
    int at = count_ - 1;
    for (; at > 0 && scores_[at - 1] < score; --at) {
      scores_[at] = scores_[at - 1];
      tokens_[at] = tokens_[at - 1];
    }
    scores_[at] = score;
    tokens_[at] = token;
  }
  // Tokens first .. first + count, whose logits are x[0 .. count).
  void InsertAll(const float* x, int count, TokenId first) {
    for (int i = 0; i < count; ++i) {
      if (x[i] > floor()) Insert(x[i], first + i);
    }
  }
  TokenId token(int i) const { return scores_[i] > kLowest ? tokens_[i] : -1; }

 private:
  int count_;
  std::array<float, kMostTopTokens> scores_;
  std::array<TokenId, kMostTopTokens> tokens_;
};

// Of blocks whose maxima are known, those that can hold one of the best. The maxima of whole blocks
// are tokens themselves, so nothing below the count-th largest of them counts.
void InsertByMaxima(const float* x, int vocab, const float* maxima, int count, Best& best) {
  const int whole = vocab / kLogitBlock;
  Best of_blocks(count);
  of_blocks.InsertAll(maxima, whole, 0);
  const float least = of_blocks.floor();
  for (int block = 0; block < whole; ++block) {
    if (maxima[block] < least || !(maxima[block] > best.floor())) continue;
    best.InsertAll(x + block * kLogitBlock, kLogitBlock, block * kLogitBlock);
  }
  best.InsertAll(x + whole * kLogitBlock, vocab % kLogitBlock, whole * kLogitBlock);
}

}  // namespace

void TopTokens(const Sampler::Row& row, int count, std::span<TokenId> out) {
  HUNCH_CHECK(count >= 0 && count <= kMostTopTokens);
  HUNCH_CHECK_GE(out.size(), static_cast<size_t>(count));
  if (count == 0) return;
  const float* x = row.logits.data();
  const int vocab = static_cast<int>(row.logits.size());
  Best best(count);
  // SPEED ONLY: the maxima say where to look.
  if (kTakeSpeedOnlyBranches && row.maxima != nullptr) {
    InsertByMaxima(x, vocab, row.maxima, count, best);
  } else {
    best.InsertAll(x, vocab, 0);
  }
  for (int i = 0; i < count; ++i) out[i] = best.token(i);
}

}  // namespace hunch

#include "tokenizer/bpe.h"

#include <algorithm>
#include <functional>

#include "base/check.h"

namespace hunch {
namespace {

constexpr uint32_t kNoSymbol = UINT32_MAX;
constexpr MergeTable::Merge kNoMerge = {MergeTable::kNoRank, -1};

// Up to here a scan for the lowest rank beats a heap; nearly every piece of real text is shorter.
constexpr size_t kShortPiece = 48;

}  // namespace

void BpeMerger::Append(std::string_view piece, std::vector<TokenId>* tokens) {
  HUNCH_CHECK_LT(piece.size(), kNoSymbol);
  symbols_.clear();
  for (const char c : piece) {
    const TokenId token = vocabulary_.ByteToken(static_cast<uint8_t>(c));
    if (token >= 0) symbols_.push_back(token);
  }
  if (symbols_.size() < 2) {
    tokens->insert(tokens->end(), symbols_.begin(), symbols_.end());
    return;
  }
  pairs_.resize(symbols_.size());
  for (size_t i = 0; i + 1 < symbols_.size(); ++i) {
    pairs_[i] = vocabulary_.merges().Find(symbols_[i], symbols_[i + 1]);
  }
  pairs_.back() = kNoMerge;
  // SPEED ONLY: both take the pairs in the same order.
#ifdef HUNCH_FLIP_SPEED_ONLY
  const bool is_short = symbols_.size() > kShortPiece && symbols_.size() < 4096;
#else
  const bool is_short = symbols_.size() <= kShortPiece;
#endif
  if (is_short) {
    MergeShort(tokens);
  } else {
    MergeLong(tokens);
  }
}

void BpeMerger::MergeShort(std::vector<TokenId>* tokens) {
  const MergeTable& merges = vocabulary_.merges();
  size_t count = symbols_.size();
  while (true) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (pairs_[i].rank < pairs_[best].rank) best = i;
    }
    if (pairs_[best].rank == MergeTable::kNoRank) break;
    symbols_[best] = pairs_[best].result;
    std::copy(symbols_.begin() + best + 2, symbols_.begin() + count, symbols_.begin() + best + 1);
    std::copy(pairs_.begin() + best + 2, pairs_.begin() + count, pairs_.begin() + best + 1);
    --count;
    pairs_[best] = best + 1 < count ? merges.Find(symbols_[best], symbols_[best + 1]) : kNoMerge;
    if (best > 0) pairs_[best - 1] = merges.Find(symbols_[best - 1], symbols_[best]);
  }
  tokens->insert(tokens->end(), symbols_.begin(), symbols_.begin() + count);
}

void BpeMerger::MergeLong(std::vector<TokenId>* tokens) {
  const MergeTable& merges = vocabulary_.merges();
  const auto count = static_cast<uint32_t>(symbols_.size());
  next_.resize(count);
  previous_.resize(count);
  heap_.clear();
  const auto entry = [this](uint32_t i) { return static_cast<uint64_t>(pairs_[i].rank) << 32 | i; };
  for (uint32_t i = 0; i < count; ++i) {
    next_[i] = i + 1 < count ? i + 1 : kNoSymbol;
    previous_[i] = i > 0 ? i - 1 : kNoSymbol;
    if (pairs_[i].rank != MergeTable::kNoRank) heap_.push_back(entry(i));
  }
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  const auto refresh = [&](uint32_t i) {
    pairs_[i] = next_[i] == kNoSymbol ? kNoMerge : merges.Find(symbols_[i], symbols_[next_[i]]);
    if (pairs_[i].rank == MergeTable::kNoRank) return;
    heap_.push_back(entry(i));
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  };
  while (!heap_.empty()) {
    const uint64_t top = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.pop_back();
    const auto left = static_cast<uint32_t>(top);
    // An entry whose pair has changed since it was pushed is stale; swallowed symbols have no pair.
    if (top >> 32 != pairs_[left].rank) continue;
    const uint32_t right = next_[left];
    symbols_[left] = pairs_[left].result;
    pairs_[right] = kNoMerge;
    next_[left] = next_[right];
    if (next_[right] != kNoSymbol) previous_[next_[right]] = left;
    refresh(left);
    if (previous_[left] != kNoSymbol) refresh(previous_[left]);
  }
  for (uint32_t i = 0; i != kNoSymbol; i = next_[i]) tokens->push_back(symbols_[i]);
}

}  // namespace hunch

#include "draft/ngram_index.h"

#include <bit>
#include <utility>

#include "base/check.h"

namespace hunch {

void NgramIndex::Clear() {
  used_ = 0;
  slots_.clear();
  previous_.clear();
}

void NgramIndex::Reserve(size_t ngrams) {
  previous_.reserve(ngrams);
  const size_t wanted = std::bit_ceil(2 * ngrams + 1);
  if (wanted > slots_.size()) Grow(wanted);
}

uint32_t NgramIndex::Hash(std::span<const TokenId> tokens, size_t end) const {
  uint64_t hash = 0;
  for (size_t i = end - static_cast<size_t>(length_); i < end; ++i) {
    hash = (hash ^ static_cast<uint32_t>(tokens[i])) * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 32;
  }
  return static_cast<uint32_t>(hash);
}

// The slot that holds `hash`, or the free one where it belongs.
size_t NgramIndex::Probe(uint32_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  while (slots_[slot].end >= 0 && slots_[slot].hash != hash) slot = (slot + 1) & mask;
  return slot;
}

void NgramIndex::Grow(size_t slots) {
  std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots));
  for (const Slot& slot : old) {
    if (slot.end >= 0) slots_[Probe(slot.hash)] = slot;
  }
}

void NgramIndex::Put(std::span<const TokenId> tokens, size_t end) {
  HUNCH_CHECK_GE(end, static_cast<size_t>(length_));
  if (2 * (used_ + 1) > slots_.size()) Grow(slots_.empty() ? 64 : 2 * slots_.size());
  const uint32_t hash = Hash(tokens, end);
  Slot& slot = slots_[Probe(hash)];
  used_ += slot.end < 0;
  const size_t at = end - static_cast<size_t>(length_);
  if (at >= previous_.size()) previous_.resize(at + 1, -1);
  // Only ever further back, so that following it ends.
  previous_[at] = slot.end < static_cast<int64_t>(end) ? slot.end : -1;
  slot = {hash, static_cast<int32_t>(end)};
}

int64_t NgramIndex::Find(std::span<const TokenId> tokens) const {
  if (slots_.empty() || tokens.size() < static_cast<size_t>(length_)) return -1;
  return slots_[Probe(Hash(tokens, tokens.size()))].end;
}

int64_t NgramIndex::Previous(int64_t end) const {
  const int64_t at = end - length_;
  return at >= 0 && at < static_cast<int64_t>(previous_.size()) ? previous_[static_cast<size_t>(at)]
                                                                : -1;
}

}  // namespace hunch

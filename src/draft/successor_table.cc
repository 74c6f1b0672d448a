#include "draft/successor_table.h"

#include <algorithm>
#include <bit>

namespace hunch {
namespace {

uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 32)) * 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 29)) * 0xBF58476D1CE4E5B9ull;
  return x ^ (x >> 32);
}

}  // namespace

SuccessorTable::SuccessorTable(size_t contexts)
    : entries_(std::bit_ceil((std::max<size_t>(contexts, 1) + kWays - 1) / kWays) * kWays),
      set_mask_(entries_.size() / kWays - 1) {}

void SuccessorTable::Clear() {
  if (used_ > 0) std::fill(entries_.begin(), entries_.end(), Entry{});
  writes_ = 0;
  used_ = 0;
}

std::span<SuccessorTable::Entry> SuccessorTable::SetOf(uint64_t key) {
  return std::span(entries_).subspan((Mix(key) & set_mask_) * kWays, kWays);
}

// The context's entry, found or made: with no successors, in the place of the oldest.
SuccessorTable::Entry& SuccessorTable::Place(uint64_t key) {
  Entry* oldest = nullptr;
  for (Entry& entry : SetOf(key)) {
    if (entry.written > 0 && entry.key == key) {
      entry.written = ++writes_;
      return entry;
    }
    if (oldest == nullptr || entry.written < oldest->written) oldest = &entry;
  }
  used_ += oldest->written == 0;
  oldest->key = key;
  oldest->written = ++writes_;
  oldest->successors.fill(-1);
  return *oldest;
}

void SuccessorTable::Put(uint64_t key, const Successors& successors) {
  Place(key).successors = successors;
}

void SuccessorTable::PutFirst(uint64_t key, TokenId token) {
  Successors& successors = Place(key).successors;
  const auto found = std::find(successors.begin(), successors.end() - 1, token);
  std::move_backward(successors.begin(), found, found + 1);
  successors.front() = token;
}

const SuccessorTable::Successors* SuccessorTable::Find(uint64_t key) const {
  const Entry* set = entries_.data() + (Mix(key) & set_mask_) * kWays;
  for (int way = 0; way < kWays; ++way) {
    if (set[way].written > 0 && set[way].key == key) return &set[way].successors;
  }
  return nullptr;
}

}  // namespace hunch

#include "draft/ngram_pool.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace hunch {
namespace {

uint32_t Mix(TokenId token) {
  const uint64_t product = static_cast<uint32_t>(token) * 0x9E3779B97F4A7C15ull;
  return static_cast<uint32_t>(product >> 32);
}

}  // namespace

NgramPool::NgramPool(int length, int per_token, size_t first_tokens)
    : length_(length),
      per_token_(per_token),
      entries_(std::bit_ceil((std::max<size_t>(first_tokens, 1) + kWays - 1) / kWays) * kWays),
      tokens_(entries_.size() * static_cast<size_t>(per_token * length)) {
  HUNCH_CHECK(length >= 1 && per_token >= 1);
}

void NgramPool::Clear() {
  if (writes_ > 0) std::fill(entries_.begin(), entries_.end(), Entry{});
  writes_ = 0;
}

int64_t NgramPool::Find(TokenId first) const {
  const size_t set = Mix(first) & (entries_.size() / kWays - 1);
  for (size_t i = set * kWays; i < (set + 1) * kWays; ++i) {
    if (entries_[i].written > 0 && entries_[i].first == first) return static_cast<int64_t>(i);
  }
  return -1;
}

// The entry of `first`, found or made in the place of the oldest of its set.
size_t NgramPool::Place(TokenId first) {
  if (const int64_t found = Find(first); found >= 0) return static_cast<size_t>(found);
  const auto set = entries_.begin() + (Mix(first) & (entries_.size() / kWays - 1)) * kWays;
  const auto oldest = std::min_element(
      set, set + kWays, [](const Entry& a, const Entry& b) { return a.written < b.written; });
  *oldest = {.first = first};
  return static_cast<size_t>(oldest - entries_.begin());
}

void NgramPool::Put(TokenId first, std::span<const TokenId> rest) {
  HUNCH_CHECK_EQ(rest.size(), static_cast<size_t>(length_));
  const size_t place = Place(first);
  Entry& entry = entries_[place];
  entry.written = ++writes_;
  const auto ngrams = tokens_.begin() + static_cast<ptrdiff_t>(place) * per_token_ * length_;
  const auto nth = [&](int i) { return ngrams + i * length_; };
  int at = 0;
  while (at < entry.count && !std::equal(rest.begin(), rest.end(), nth(at))) ++at;
  if (at == entry.count && at < per_token_) {
    ++entry.count;
  } else {
    // Its older self goes, or else the oldest: the later ones move up.
    if (at == entry.count) at = 0;
    std::copy(nth(at + 1), nth(entry.count), nth(at));
  }
  std::copy(rest.begin(), rest.end(), nth(entry.count - 1));
}

int NgramPool::Count(TokenId first) const {
  const int64_t place = Find(first);
  return place < 0 ? 0 : entries_[place].count;
}

std::span<const TokenId> NgramPool::Get(TokenId first, int i) const {
  const int64_t place = Find(first);
  HUNCH_CHECK(place >= 0 && i >= 0 && i < entries_[place].count);
  const size_t at = static_cast<size_t>(place) * per_token_ + entries_[place].count - 1 - i;
  return std::span(tokens_).subspan(at * length_, length_);
}

}  // namespace hunch

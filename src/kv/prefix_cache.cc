#include "kv/prefix_cache.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace hunch {
namespace {

std::string_view Text(const PrefixCache::Salt& salt) {
  return salt == nullptr ? std::string_view() : *salt;
}

}  // namespace

PrefixCache::PrefixCache(int blocks)
    : entries_(blocks), buckets_(std::bit_ceil(static_cast<unsigned>(blocks) + 1), kNone) {}

// A multiplication per token, high half folded back. Who can choose tokens can make them collide:
// that costs them time, never a wrong hit.
uint64_t PrefixCache::Hash(Id before, std::span<const TokenId> tokens, const Salt& salt) {
  uint64_t hash = before;
  if (before == kStart) hash ^= std::hash<std::string_view>()(Text(salt));
  for (const TokenId token : tokens) {
    hash = (hash ^ static_cast<uint32_t>(token)) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  }
  return hash;
}

int32_t PrefixCache::Find(Id before, std::span<const TokenId> tokens, const Salt& salt) const {
  HUNCH_CHECK_EQ(tokens.size(), size_t{kSlotsPerBlock});
  const uint64_t hash = Hash(before, tokens, salt);
  int32_t block = buckets_[hash & (buckets_.size() - 1)];
  for (; block != kNone; block = entries_[block].next) {
    const Entry& entry = entries_[block];
    if (entry.hash == hash && entry.before == before &&
        std::equal(tokens.begin(), tokens.end(), entry.tokens.begin()) &&
        (before != kStart || Text(entry.salt) == Text(salt))) {
      return block;
    }
  }
  return kNone;
}

PrefixCache::Id PrefixCache::Add(int32_t block, Id before, std::span<const TokenId> tokens,
                                 const Salt& salt) {
  HUNCH_CHECK(!Knows(block)) << "block " << block;
  HUNCH_CHECK_EQ(Find(before, tokens, salt), kNone);
  Entry& entry = entries_[block];
  entry.id = ++last_id_;
  entry.before = before;
  std::copy(tokens.begin(), tokens.end(), entry.tokens.begin());
  if (before == kStart) entry.salt = salt;
  entry.hash = Hash(before, tokens, salt);
  entry.next = std::exchange(Bucket(entry.hash), block);
  return entry.id;
}

void PrefixCache::SetIdle(int32_t block) {
  Entry& entry = entries_[block];
  HUNCH_CHECK(Knows(block) && !entry.idle) << "block " << block;
  entry.idle = true;
  entry.older = newest_;
  entry.newer = kNone;
  (newest_ == kNone ? oldest_ : entries_[newest_].newer) = block;
  newest_ = block;
  ++idle_;
}

void PrefixCache::SetHeld(int32_t block) {
  Entry& entry = entries_[block];
  HUNCH_CHECK(entry.idle) << "block " << block;
  (entry.older == kNone ? oldest_ : entries_[entry.older].newer) = entry.newer;
  (entry.newer == kNone ? newest_ : entries_[entry.newer].older) = entry.older;
  entry.idle = false;
  --idle_;
}

int32_t PrefixCache::Evict() {
  const int32_t block = oldest_;
  if (block == kNone) return kNone;
  SetHeld(block);
  int32_t* at = &Bucket(entries_[block].hash);
  while (*at != block) at = &entries_[*at].next;
  *at = entries_[block].next;
  entries_[block].id = 0;
  entries_[block].salt.reset();
  return block;
}

}  // namespace hunch

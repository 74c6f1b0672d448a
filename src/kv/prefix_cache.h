// Which blocks hold the KV of which tokens, so that a sequence that begins like an earlier one
// takes its blocks instead of reading its tokens again. The contents of a block depend on the
// tokens from the sequence's start to its last slot, and on nothing else (docs/numerics.md), so a
// block is named by its 16 tokens and the block before it; of a first block, by the salt instead.
// A hash finds candidates, tokens decide.
//
// Invariants: only full blocks of committed tokens are known, and nobody writes to those. An id is
// given once, so that what followed a block that is gone is never found behind the one that took
// its place. Idle blocks (known, held by no table) are evicted in the order in which they fell
// idle; a sequence lets go of its last block first, so what is reused most, the beginnings, goes
// last. All memory is taken at the start. Confined to the engine's thread.
#ifndef HUNCH_KV_PREFIX_CACHE_H_
#define HUNCH_KV_PREFIX_CACHE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "seq/types.h"

namespace hunch {

inline constexpr int kSlotsPerBlock = 16;

class PrefixCache {
 public:
  using Salt = std::shared_ptr<const std::string>;  // null: the empty one
  // Names a block's contents: what precedes it and its own tokens.
  using Id = uint64_t;
  static constexpr Id kStart = 0;  // before the first block
  static constexpr int32_t kNone = -1;

  explicit PrefixCache(int blocks);

  // The block that holds tokens[16] behind `before`; kNone: not known. Of the salt only first
  // blocks are asked.
  int32_t Find(Id before, std::span<const TokenId> tokens, const Salt& salt) const;
  // From now on `block`, which a table holds, is what Find gives. CHECKs that nothing else is.
  Id Add(int32_t block, Id before, std::span<const TokenId> tokens, const Salt& salt);
  bool Knows(int32_t block) const { return entries_[block].id != 0; }
  Id IdOf(int32_t block) const { return entries_[block].id; }

  // Nobody holds the block any more, or somebody does again.
  void SetIdle(int32_t block);
  void SetHeld(int32_t block);
  int idle_blocks() const { return idle_; }
  // Forgets the block that has been idle longest, and returns it; kNone without any.
  int32_t Evict();

 private:
  struct Entry {
    Id id = 0;  // 0: not known
    Id before = 0;
    std::array<TokenId, kSlotsPerBlock> tokens = {};
    Salt salt;  // of a first block
    uint64_t hash = 0;
    int32_t next = kNone;   // in its bucket
    int32_t older = kNone;  // in the order of idleness
    int32_t newer = kNone;
    bool idle = false;
  };

  static uint64_t Hash(Id before, std::span<const TokenId> tokens, const Salt& salt);
  int32_t& Bucket(uint64_t hash) { return buckets_[hash & (buckets_.size() - 1)]; }

  std::vector<Entry> entries_;    // [blocks]
  std::vector<int32_t> buckets_;  // first block of each; a power of two of them
  Id last_id_ = 0;
  int32_t oldest_ = kNone, newest_ = kNone;
  int idle_ = 0;
};

}  // namespace hunch

#endif  // HUNCH_KV_PREFIX_CACHE_H_

// The accounts of the paged KV cache: which blocks exist, who holds them, how far a sequence has
// got. This folder accounts and never computes; what a block holds is the kernels' business.
//
// Sequences that begin alike may hold the same blocks: what a table shares, others adopt
// (prefix_cache.h). Only full blocks of committed slots are shared, and those are never written
// again, so nothing is copied.
//
// Invariants (checked by ValidateKv): a block is free, or idle (known to the prefix cache, held by
// no table), or held, by several tables only if it is known; a table holds just the blocks of its
// committed slots, plus those of its one live Reservation. Confined to the engine's thread.
#ifndef HUNCH_KV_BLOCK_POOL_H_
#define HUNCH_KV_BLOCK_POOL_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "kv/prefix_cache.h"

namespace hunch {

class BlockPool {
 public:
  explicit BlockPool(int blocks, bool share_prefixes = false);
  int capacity() const { return static_cast<int>(holders_.size()); }
  // Blocks that Take can give, idle ones included.
  int free_blocks() const {
    return static_cast<int>(free_.size()) + (prefixes_ ? prefixes_->idle_blocks() : 0);
  }
  // Lowest-numbered recently freed block first, then the one idle longest; nullopt when none is
  // left.
  std::optional<int32_t> Take();
  // One holder more of a known block, one less of any.
  void Hold(int32_t block);
  void Give(int32_t block);
  int holders(int32_t block) const { return holders_[block]; }
  // Null: nothing is shared.
  PrefixCache* prefixes() { return prefixes_ ? &*prefixes_ : nullptr; }
  const PrefixCache* prefixes() const { return prefixes_ ? &*prefixes_ : nullptr; }

 private:
  std::vector<int32_t> free_;     // a stack
  std::vector<int32_t> holders_;  // [blocks]
  std::optional<PrefixCache> prefixes_;
};

constexpr int BlocksFor(int slots) { return (slots + kSlotsPerBlock - 1) / kSlotsPerBlock; }

class Reservation;

// One sequence's slots: slot s lies in blocks()[s / 16]. Gives its blocks back when it goes.
class BlockTable {
 public:
  explicit BlockTable(BlockPool& pool) : pool_(&pool) {}
  ~BlockTable() { Clear(); }
  BlockTable(const BlockTable&) = delete;
  BlockTable& operator=(const BlockTable&) = delete;

  // Slots that hold the KV of committed tokens.
  int committed() const { return committed_; }
  // With those of the live reservation, if any.
  const std::vector<int32_t>& blocks() const { return blocks_; }

  // So that growing to `slots` slots allocates nothing.
  void Expect(int slots);
  // Takes the blocks that hold the beginning of `tokens`, if this table is empty and the pool knows
  // some; all but the last token at most, since its logits are wanted. Returns the slots gained.
  int Adopt(std::span<const TokenId> tokens, const PrefixCache::Salt& salt);
  // How many slots Adopt would give an empty table.
  int Known(std::span<const TokenId> tokens, const PrefixCache::Salt& salt) const;
  // Makes the full committed blocks known to the pool. tokens: at least those committed.
  void Share(std::span<const TokenId> tokens, const PrefixCache::Salt& salt);
  // Room for `slots` more than the committed ones, or nullopt: capacity is an outcome, not an
  // error. One reservation at a time.
  std::optional<Reservation> Reserve(int slots);
  // Forgets everything after the first `slots` committed slots and gives their blocks back. What
  // was shared may only go as a whole: to cut a known block CHECKs.
  void Truncate(int slots);
  void Clear() { Truncate(0); }

 private:
  friend class Reservation;
  // use(block, its id) for the known blocks that hold the beginning of `tokens`, but for the last
  // token.
  template <typename Use>
  void ForEachKnown(std::span<const TokenId> tokens, const PrefixCache::Salt& salt,
                    const Use& use) const;
  void TrimBlocks();

  BlockPool* pool_;
  std::vector<int32_t> blocks_;
  int committed_ = 0;
  bool reserved_ = false;
  int shared_ = 0;  // the first of blocks_ are known, or like known ones
  PrefixCache::Id before_ = PrefixCache::kStart;  // what those hold
};

// The right to write some slots past the committed ones. Commit keeps the first of them; whatever
// is not committed is released when the reservation goes. Move-only.
class Reservation {
 public:
  Reservation(Reservation&& other) noexcept
      : table_(std::exchange(other.table_, nullptr)), slots_(other.slots_) {}
  Reservation& operator=(Reservation&&) = delete;
  ~Reservation() { Release(); }

  int slots() const { return slots_; }
  // The first `slots` reserved slots are the sequence's now. Cannot fail.
  void Commit(int slots);

 private:
  friend class BlockTable;
  Reservation(BlockTable* table, int slots) : table_(table), slots_(slots) {}
  void Release();

  BlockTable* table_;
  int slots_;
};

// Empty when the invariants hold for a pool and all of its tables, else what is broken.
std::string ValidateKv(const BlockPool& pool, std::span<const BlockTable* const> tables);

}  // namespace hunch

#endif  // HUNCH_KV_BLOCK_POOL_H_

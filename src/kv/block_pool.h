// The accounts of the paged KV cache: which blocks exist, who holds them, how far a sequence has
// got. This folder accounts and never computes; what a block holds is the kernels' business.
//
// Invariants (checked by Validate): a block is either free or held by exactly one BlockTable; a
// table holds just the blocks of its committed slots, plus those of its one live Reservation.
// Confined to the engine's thread.
#ifndef HUNCH_KV_BLOCK_POOL_H_
#define HUNCH_KV_BLOCK_POOL_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"

namespace hunch {

inline constexpr int kSlotsPerBlock = 16;

class BlockPool {
 public:
  explicit BlockPool(int blocks);
  int capacity() const { return capacity_; }
  int free_blocks() const { return static_cast<int>(free_.size()); }
  // Lowest-numbered recently freed block first; nullopt when none is left.
  std::optional<int32_t> Take();
  void Give(int32_t block);
  bool is_free(int32_t block) const { return is_free_[block]; }

 private:
  int capacity_;
  std::vector<int32_t> free_;  // a stack
  std::vector<bool> is_free_;
};

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
  // Room for `slots` more than the committed ones, or nullopt: capacity is an outcome, not an
  // error. One reservation at a time.
  std::optional<Reservation> Reserve(int slots);
  // Forgets everything after the first `slots` committed slots and gives their blocks back.
  void Truncate(int slots);
  void Clear() { Truncate(0); }

 private:
  friend class Reservation;
  void TrimBlocks();

  BlockPool* pool_;
  std::vector<int32_t> blocks_;
  int committed_ = 0;
  bool reserved_ = false;
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

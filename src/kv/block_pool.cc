#include "kv/block_pool.h"

#include <fmt/format.h>

namespace hunch {
namespace {

int BlocksFor(int slots) { return (slots + kSlotsPerBlock - 1) / kSlotsPerBlock; }

}  // namespace

BlockPool::BlockPool(int blocks) : capacity_(blocks), is_free_(blocks, true) {
  free_.reserve(blocks);
  for (int32_t block = blocks - 1; block >= 0; --block) free_.push_back(block);
}

std::optional<int32_t> BlockPool::Take() {
  if (free_.empty()) return std::nullopt;
  const int32_t block = free_.back();
  free_.pop_back();
  is_free_[block] = false;
  return block;
}

void BlockPool::Give(int32_t block) {
  HUNCH_CHECK(!is_free_[block]) << "block " << block << " was freed twice";
  is_free_[block] = true;
  free_.push_back(block);
}

void BlockTable::Expect(int slots) { blocks_.reserve(BlocksFor(slots)); }

std::optional<Reservation> BlockTable::Reserve(int slots) {
  HUNCH_CHECK(!reserved_);
  HUNCH_CHECK_GE(slots, 0);
  const int needed = BlocksFor(committed_ + slots);
  if (needed - static_cast<int>(blocks_.size()) > pool_->free_blocks()) return std::nullopt;
  while (static_cast<int>(blocks_.size()) < needed) blocks_.push_back(*pool_->Take());
  reserved_ = true;
  return Reservation(this, slots);
}

void BlockTable::Truncate(int slots) {
  HUNCH_CHECK(!reserved_);
  HUNCH_CHECK_LE(slots, committed_);
  committed_ = slots;
  TrimBlocks();
}

void BlockTable::TrimBlocks() {
  while (static_cast<int>(blocks_.size()) > BlocksFor(committed_)) {
    pool_->Give(blocks_.back());
    blocks_.pop_back();
  }
}

void Reservation::Commit(int slots) {
  HUNCH_CHECK(table_ != nullptr);
  HUNCH_CHECK_LE(slots, slots_);
  table_->committed_ += slots;
  Release();
}

void Reservation::Release() {
  if (table_ == nullptr) return;
  table_->reserved_ = false;
  table_->TrimBlocks();
  table_ = nullptr;
}

std::string ValidateKv(const BlockPool& pool, std::span<const BlockTable* const> tables) {
  std::vector<bool> held(pool.capacity(), false);
  int count = 0;
  for (const BlockTable* table : tables) {
    if (static_cast<int>(table->blocks().size()) < BlocksFor(table->committed())) {
      return fmt::format("a table has {} committed slots in {} blocks", table->committed(),
                         table->blocks().size());
    }
    for (int32_t block : table->blocks()) {
      if (held[block]) return fmt::format("block {} is held twice", block);
      if (pool.is_free(block)) return fmt::format("block {} is held and free", block);
      held[block] = true;
      ++count;
    }
  }
  if (count + pool.free_blocks() != pool.capacity()) {
    return fmt::format("{} blocks held + {} free, of {}", count, pool.free_blocks(),
                       pool.capacity());
  }
  return "";
}

}  // namespace hunch

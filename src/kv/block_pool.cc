#include "kv/block_pool.h"

#include <fmt/format.h>

namespace hunch {
BlockPool::BlockPool(int blocks, bool share_prefixes) : holders_(blocks, 0) {
  free_.reserve(blocks);
  for (int32_t block = blocks - 1; block >= 0; --block) free_.push_back(block);
  if (share_prefixes) prefixes_.emplace(blocks);
}

std::optional<int32_t> BlockPool::Take() {
  int32_t block;
  if (!free_.empty()) {
    block = free_.back();
    free_.pop_back();
  } else {
    block = prefixes_ ? prefixes_->Evict() : PrefixCache::kNone;
    if (block == PrefixCache::kNone) return std::nullopt;
  }
  holders_[block] = 1;
  return block;
}

void BlockPool::Hold(int32_t block) {
  if (holders_[block]++ == 0) prefixes_->SetHeld(block);
}

void BlockPool::Give(int32_t block) {
  HUNCH_CHECK_GT(holders_[block], 0) << "block " << block << " was freed twice";
  if (--holders_[block] > 0) return;
  if (prefixes_ && prefixes_->Knows(block)) {
    prefixes_->SetIdle(block);
  } else {
    free_.push_back(block);
  }
}

void BlockTable::Expect(int slots) { blocks_.reserve(BlocksFor(slots)); }

template <typename Use>
void BlockTable::ForEachKnown(std::span<const TokenId> tokens, const PrefixCache::Salt& salt,
                              const Use& use) const {
  const PrefixCache* prefixes = pool_->prefixes();
  if (prefixes == nullptr) return;
  PrefixCache::Id before = PrefixCache::kStart;
  for (size_t first = 0; first + kSlotsPerBlock < tokens.size(); first += kSlotsPerBlock) {
    const int32_t block = prefixes->Find(before, tokens.subspan(first, kSlotsPerBlock), salt);
    if (block == PrefixCache::kNone) return;
    before = prefixes->IdOf(block);
    use(block, before);
  }
}

int BlockTable::Known(std::span<const TokenId> tokens, const PrefixCache::Salt& salt) const {
  int slots = 0;
  ForEachKnown(tokens, salt, [&](int32_t, PrefixCache::Id) { slots += kSlotsPerBlock; });
  return slots;
}

int BlockTable::Adopt(std::span<const TokenId> tokens, const PrefixCache::Salt& salt) {
  HUNCH_CHECK(!reserved_);
  if (committed_ > 0) return 0;
  ForEachKnown(tokens, salt, [&](int32_t block, PrefixCache::Id id) {
    pool_->Hold(block);
    blocks_.push_back(block);
    before_ = id;
    ++shared_;
  });
  committed_ = shared_ * kSlotsPerBlock;
  return committed_;
}

void BlockTable::Share(std::span<const TokenId> tokens, const PrefixCache::Salt& salt) {
  PrefixCache* prefixes = pool_->prefixes();
  if (prefixes == nullptr) return;
  for (; (shared_ + 1) * kSlotsPerBlock <= committed_; ++shared_) {
    const auto own = tokens.subspan(shared_ * kSlotsPerBlock, kSlotsPerBlock);
    const int32_t known = prefixes->Find(before_, own, salt);
    before_ = known == PrefixCache::kNone ? prefixes->Add(blocks_[shared_], before_, own, salt)
                                          : prefixes->IdOf(known);
  }
}

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
  HUNCH_CHECK(slots == 0 || slots >= shared_ * kSlotsPerBlock) << slots << " " << shared_;
  committed_ = slots;
  if (slots == 0) {
    shared_ = 0;
    before_ = PrefixCache::kStart;
  }
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
  std::vector<int> held(pool.capacity(), 0);
  for (const BlockTable* table : tables) {
    if (static_cast<int>(table->blocks().size()) < BlocksFor(table->committed())) {
      return fmt::format("a table has {} committed slots in {} blocks", table->committed(),
                         table->blocks().size());
    }
    for (int32_t block : table->blocks()) ++held[block];
  }
  int count = 0;
  for (int32_t block = 0; block < pool.capacity(); ++block) {
    const bool known = pool.prefixes() != nullptr && pool.prefixes()->Knows(block);
    if (held[block] > 1 && !known) return fmt::format("block {} is held twice", block);
    if (held[block] != pool.holders(block)) {
      return fmt::format("block {} has {} holders, not {}", block, held[block],
                         pool.holders(block));
    }
    count += held[block] > 0;
  }
  if (count + pool.free_blocks() != pool.capacity()) {
    return fmt::format("{} blocks held + {} free, of {}", count, pool.free_blocks(),
                       pool.capacity());
  }
  return "";
}

}  // namespace hunch

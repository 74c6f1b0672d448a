#include "draft/ngram_table.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "base/check.h"
#include "weights/byte_cursor.h"

namespace hunch {

const TableKind NgramTable::kKind = {"HUNCHNGC", "n-gram table", 1};

uint64_t NgramTable::Hash(std::span<const TokenId> context) {
  // Far from any token, so that no short context runs into the beginning of another length.
  uint64_t hash = (context.size() + 1) * 0xD1B54A32D192ED03ull;
  for (const TokenId token : context) {
    hash = (hash ^ static_cast<uint32_t>(token)) * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 32;
  }
  hash *= 0xD6E8FEB86659FD93ull;
  hash ^= hash >> 32;
  return hash == 0 ? 1 : hash;
}

NgramTable::Slot NgramTable::SlotAt(uint64_t index) const {
  Slot slot;
  std::memcpy(&slot, slot_bytes_ + index * sizeof(Slot), sizeof(Slot));
  return slot;
}

NgramTable::Branch NgramTable::BranchAt(uint64_t index) const {
  Branch branch;
  std::memcpy(&branch, branch_bytes_ + index * sizeof(Branch), sizeof(Branch));
  return branch;
}

// What Find relies on: looking ends at a free slot, branches are there, ids are of the vocabulary,
// counts add up.
Status NgramTable::Check(const VocabularyId& vocabulary) const {
  uint64_t used = 0;
  for (uint64_t i = 0; i < slots_; ++i) {
    const Slot slot = SlotAt(i);
    if (slot.hash == 0) continue;
    ++used;
    if (slot.size() < 1 || slot.size() > kBranches || slot.first > branches_ ||
        slot.size() > branches_ - slot.first) {
      return file_.Bad(fmt::format("slot {} names branches that are not there", i));
    }
    uint64_t sum = 0;
    uint32_t last = kMostFollowed;
    for (uint32_t k = 0; k < slot.size(); ++k) {
      const Branch branch = BranchAt(slot.first + k);
      if (branch.token < 0 || branch.token >= vocabulary.size) {
        return file_.Bad(fmt::format("token id {} is not of the vocabulary", branch.token));
      }
      if (branch.count < 1 || branch.count > last) {
        return file_.Bad(fmt::format("the counts of slot {} are wrong", i));
      }
      for (uint32_t before = 0; before < k; ++before) {
        if (BranchAt(slot.first + before).token == branch.token) {
          return file_.Bad(fmt::format("slot {} has a token twice", i));
        }
      }
      last = branch.count;
      sum += branch.count;
    }
    if (sum > slot.followed()) return file_.Bad(fmt::format("the counts of slot {} are wrong", i));
  }
  if (used != contexts_) return file_.Bad("it does not hold as many contexts as it says");
  return Ok{};
}

Result<std::shared_ptr<const NgramTable>> NgramTable::Parse(TableFile file,
                                                            const VocabularyId& vocabulary) {
  const std::shared_ptr<NgramTable> table(new NgramTable(std::move(file)));
  ByteCursor cursor(table->file_.payload());
  std::span<const std::byte> slots, branches;
  if (!cursor.Read(&table->slots_) || !cursor.Read(&table->contexts_) ||
      !cursor.Read(&table->branches_) || table->slots_ > kMostSlots ||
      table->contexts_ >= table->slots_ || !cursor.CanHold(table->slots_, sizeof(Slot)) ||
      !cursor.ReadBytes(table->slots_ * sizeof(Slot), &slots) ||
      !cursor.CanHold(table->branches_, sizeof(Branch)) ||
      !cursor.ReadBytes(table->branches_ * sizeof(Branch), &branches) || cursor.left() != 0) {
    return table->file_.Bad("its counts do not fit its size");
  }
  table->slot_bytes_ = slots.data();
  table->branch_bytes_ = branches.data();
  HUNCH_RETURN_IF_ERROR(table->Check(vocabulary));
  return std::shared_ptr<const NgramTable>(table);
}

Result<std::shared_ptr<const NgramTable>> NgramTable::Open(const std::string& path,
                                                           const VocabularyId& vocabulary) {
  HUNCH_ASSIGN_OR_RETURN(TableFile file, TableFile::Open(path, kKind, vocabulary));
  return Parse(std::move(file), vocabulary);
}

NgramTable::Entry NgramTable::Find(std::span<const TokenId> context) const {
  const uint64_t hash = Hash(context);
  uint64_t at = Home(hash, slots_);
  for (Slot slot = SlotAt(at); slot.hash != 0; slot = SlotAt(at)) {
    if (slot.hash == hash) {
      Entry entry;
      entry.followed = static_cast<int>(slot.followed());
      entry.size = static_cast<int>(slot.size());
      for (int i = 0; i < entry.size; ++i) {
        entry.branches[i] = BranchAt(slot.first + static_cast<uint32_t>(i));
      }
      return entry;
    }
    at = at + 1 == slots_ ? 0 : at + 1;
  }
  return {};
}

}  // namespace hunch

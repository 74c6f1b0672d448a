// NgramTable: a file (.ngc) of what followed which few tokens in a corpus, and how often. Written
// once by an NgramCacheBuilder, mapped and shared by any number of readers; immutable and thread
// safe. Hostile input: everything that a look-up relies on is checked when it is opened, in one
// pass over the file.
//
// Contexts are 64-bit hashes of 2 to 4 tokens, in one open-addressing table; two with the same hash
// are taken for one (a wrong guess costs time, never text). Layout: docs/formats.md.
#ifndef HUNCH_DRAFT_NGRAM_TABLE_H_
#define HUNCH_DRAFT_NGRAM_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "draft/table_file.h"
#include "seq/types.h"

namespace hunch {

class NgramTable {
 public:
  static constexpr int kShortest = 2;  // tokens of a context
  static constexpr int kLongest = 4;
  static constexpr int kBranches = 4;  // continuations kept of a context, at most
  static const TableKind kKind;

  struct Branch {
    TokenId token;
    uint32_t count;
  };
  struct Slot {
    uint64_t hash;           // of the context; 0: a free slot
    uint32_t first;          // of its branches
    uint32_t followed_size;  // how often anything followed (capped) * 8 + number of branches
    uint32_t followed() const { return followed_size >> 3; }
    uint32_t size() const { return followed_size & 7; }
  };
  static_assert(sizeof(Branch) == 8 && sizeof(Slot) == 16);
  static constexpr uint32_t kMostFollowed = 0xFFFFFFFFu >> 3;
  static constexpr uint64_t kMostSlots = 0xFFFFFFFFu;

  static Result<std::shared_ptr<const NgramTable>> Open(const std::string& path,
                                                        const VocabularyId& vocabulary);
  // The bytes behind `file` must outlive the table, if it does not hold them itself.
  static Result<std::shared_ptr<const NgramTable>> Parse(TableFile file,
                                                         const VocabularyId& vocabulary);

  // What followed the whole of `context`, most frequent first.
  struct Entry {
    int followed = 0;  // 0: the context is not there
    int size = 0;
    Branch branches[kBranches];
  };
  Entry Find(std::span<const TokenId> context) const;

  uint64_t contexts() const { return contexts_; }

  // Never 0.
  static uint64_t Hash(std::span<const TokenId> context);
  // Where looking for a hash begins.
  static uint64_t Home(uint64_t hash, uint64_t slots) { return (hash >> 32) * slots >> 32; }

 private:
  explicit NgramTable(TableFile file) : file_(std::move(file)) {}
  Slot SlotAt(uint64_t index) const;
  Branch BranchAt(uint64_t index) const;
  Status Check(const VocabularyId& vocabulary) const;

  TableFile file_;
  uint64_t slots_ = 0, contexts_ = 0, branches_ = 0;
  const std::byte* slot_bytes_ = nullptr;    // [slots_] Slot, maybe not aligned
  const std::byte* branch_bytes_ = nullptr;  // [branches_] Branch, maybe not aligned
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_NGRAM_TABLE_H_

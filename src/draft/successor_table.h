// SuccessorTable: for a context of the last one or two tokens, the few tokens likeliest to follow,
// best first. Memory is fixed when it is made: kWays contexts share a set, and a new one takes the
// place of the one that was written longest ago, so what it holds depends on what was written and
// in which order alone. About 52 bytes for each context. Not thread safe.
#ifndef HUNCH_DRAFT_SUCCESSOR_TABLE_H_
#define HUNCH_DRAFT_SUCCESSOR_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "seq/types.h"

namespace hunch {

class SuccessorTable {
 public:
  static constexpr int kSuccessors = 8;
  static constexpr int kWays = 8;
  using Successors = std::array<TokenId, kSuccessors>;  // best first; -1 where there are no more

  // The key of a context; no two contexts share one. before: -1 for a context of one token.
  static uint64_t Key(TokenId before, TokenId last) {
    return static_cast<uint64_t>(static_cast<uint32_t>(before)) << 32 | static_cast<uint32_t>(last);
  }

  // Room for at least `contexts`, rounded up to a power of two of sets.
  explicit SuccessorTable(size_t contexts);

  void Clear();
  // Replaces what was known of the context.
  void Put(uint64_t key, const Successors& successors);
  // `token` was the latest to follow: it goes to the front.
  void PutFirst(uint64_t key, TokenId token);
  // Null when nothing is known. Until the next call that is not const.
  const Successors* Find(uint64_t key) const;
  size_t contexts() const { return used_; }
  size_t capacity() const { return entries_.size(); }

 private:
  struct Entry {
    uint64_t key = 0;
    uint64_t written = 0;  // 0: free
    Successors successors;
  };
  std::span<Entry> SetOf(uint64_t key);
  Entry& Place(uint64_t key);

  std::vector<Entry> entries_;  // [sets][kWays]
  uint64_t set_mask_;
  uint64_t writes_ = 0;
  size_t used_ = 0;
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_SUCCESSOR_TABLE_H_

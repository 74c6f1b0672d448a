// NgramPool: n-grams by their first token, for each of these the latest few. Memory is fixed when
// it is made: kWays first tokens share a set, and a new one takes the place of the one that was
// written longest ago, so what it holds depends on what was put and in which order alone. Not
// thread safe.
#ifndef HUNCH_DRAFT_NGRAM_POOL_H_
#define HUNCH_DRAFT_NGRAM_POOL_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "seq/types.h"

namespace hunch {

class NgramPool {
 public:
  static constexpr int kWays = 8;

  // length: tokens after the first; per_token: n-grams kept for each first token. Room for at least
  // `first_tokens`, rounded up to a power of two of sets.
  NgramPool(int length, int per_token, size_t first_tokens);

  void Clear();
  // `rest` (length tokens) followed `first`: now its latest n-gram, once.
  void Put(TokenId first, std::span<const TokenId> rest);
  // How many n-grams begin with `first`, and the i-th of them, the latest first.
  int Count(TokenId first) const;
  std::span<const TokenId> Get(TokenId first, int i) const;

  size_t bytes() const {
    return entries_.size() * sizeof(Entry) + tokens_.size() * sizeof(TokenId);
  }

 private:
  struct Entry {
    TokenId first = 0;
    int32_t count = 0;
    uint64_t written = 0;  // 0: free
  };
  // The index of the entry of `first`, or -1.
  int64_t Find(TokenId first) const;
  size_t Place(TokenId first);

  int length_;
  int per_token_;
  std::vector<Entry> entries_;   // [sets][kWays]
  std::vector<TokenId> tokens_;  // [entries][per_token][length], the oldest n-gram first
  uint64_t writes_ = 0;
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_NGRAM_POOL_H_

// NgramIndex: where each n-gram of one length ended in a sequence, the last time and, from there
// back, the times before. It stores hashes and positions, never tokens (n-grams with one hash are
// taken for one): the caller confirms a hit against the sequence, so a false hit costs a lookup and
// nothing else. O(1) for each token and each lookup; 20 to 36 bytes for each n-gram indexed. Not
// thread safe.
#ifndef HUNCH_DRAFT_NGRAM_INDEX_H_
#define HUNCH_DRAFT_NGRAM_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "seq/types.h"

namespace hunch {

class NgramIndex {
 public:
  explicit NgramIndex(int length) : length_(length) {}

  int length() const { return length_; }
  void Clear();
  void Reserve(size_t ngrams);
  // The n-gram tokens[end - length .. end) ends at `end`, which replaces an earlier end. end >=
  // length, and above any that was put before, or an earlier end is hidden.
  void Put(std::span<const TokenId> tokens, size_t end);
  // Where the n-gram at the end of `tokens` last ended, or -1. A hash hit, still to be confirmed.
  int64_t Find(std::span<const TokenId> tokens) const;
  // Where the n-gram that ends at `end`, which was put, ended the time before, or -1. A hash hit.
  int64_t Previous(int64_t end) const;

 private:
  struct Slot {
    uint32_t hash = 0;
    int32_t end = -1;  // -1: free
  };
  uint32_t Hash(std::span<const TokenId> tokens, size_t end) const;
  size_t Probe(uint32_t hash) const;
  void Grow(size_t slots);

  int length_;
  size_t used_ = 0;
  std::vector<Slot> slots_;        // a power of two, at most half full; linear probing
  std::vector<int32_t> previous_;  // [end - length]
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_NGRAM_INDEX_H_

// NgramIndex: where each n-gram of one length last ended in a sequence. It stores hashes and
// positions, never tokens (of two n-grams with one hash the later stays): the caller confirms a hit
// against the sequence, so a false hit costs a lookup and nothing else. O(1) for each token and
// each lookup; 16 to 32 bytes for each n-gram indexed. Not thread safe.
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
  // length.
  void Put(std::span<const TokenId> tokens, size_t end);
  // Where the n-gram at the end of `tokens` last ended, or -1. A hash hit, still to be confirmed.
  int64_t Find(std::span<const TokenId> tokens) const;

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
  std::vector<Slot> slots_;  // a power of two, at most half full; linear probing
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_NGRAM_INDEX_H_

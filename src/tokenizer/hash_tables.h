// Flat open-addressing tables for vocabularies of 10^5 entries: a node-based map costs several
// times the load time. Both are filled once and then read only, so reads are thread safe. The keys
// come from a model file, which may be made to collide: a probe sequence is bounded, and a file
// that needs a longer one is refused (random keys at this load need far less than 100).
#ifndef HUNCH_TOKENIZER_HASH_TABLES_H_
#define HUNCH_TOKENIZER_HASH_TABLES_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "seq/types.h"

namespace hunch {

enum class InsertOutcome { kInserted, kPresent, kTooManyCollisions };

inline constexpr int kMaxProbes = 2048;

inline uint64_t MixBits(uint64_t x) {
  x ^= x >> 32;
  x *= 0x9E3779B97F4A7C15;
  x ^= x >> 29;
  x *= 0xBF58476D1CE4E5B9;
  return x ^ x >> 32;
}

inline uint64_t HashBytes(std::string_view bytes) {
  uint64_t hash = bytes.size();
  while (bytes.size() >= 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    hash = MixBits(hash ^ word);
    bytes.remove_prefix(8);
  }
  uint64_t word = 0;
  if (!bytes.empty()) std::memcpy(&word, bytes.data(), bytes.size());
  return MixBits(hash ^ word);
}

// String -> token. The strings stay where they are: `string_of(id)` gives a view of one.
class StringIndex {
 public:
  explicit StringIndex(size_t entries) : slots_(std::bit_ceil(entries * 2 + 1)) {}

  template <typename StringOf>
  InsertOutcome Insert(TokenId id, const StringOf& string_of) {
    const std::string_view key = string_of(id);
    const uint64_t hash = HashBytes(key);
    for (int probe = 0; probe < kMaxProbes; ++probe) {
      Slot& slot = slots_[(hash + probe) & (slots_.size() - 1)];
      if (slot.id < 0) {
        slot = {static_cast<uint32_t>(hash >> 32), id};
        return InsertOutcome::kInserted;
      }
      if (slot.tag == hash >> 32 && string_of(slot.id) == key) return InsertOutcome::kPresent;
    }
    return InsertOutcome::kTooManyCollisions;
  }

  // -1: absent.
  template <typename StringOf>
  TokenId Find(std::string_view key, const StringOf& string_of) const {
    const uint64_t hash = HashBytes(key);
    for (int probe = 0; probe < kMaxProbes; ++probe) {
      const Slot& slot = slots_[(hash + probe) & (slots_.size() - 1)];
      if (slot.id < 0) break;
      if (slot.tag == hash >> 32 && string_of(slot.id) == key) return slot.id;
    }
    return -1;
  }

 private:
  struct Slot {
    uint32_t tag = 0;  // the hash's upper half: most probes need not look at the string
    TokenId id = -1;
  };
  std::vector<Slot> slots_;  // [power of two, at least twice the entries]
};

// (left token, right token) -> what they merge to, and how early.
class MergeTable {
 public:
  struct Merge {
    uint32_t rank;  // lower merges first
    TokenId result;
  };
  static constexpr uint32_t kNoRank = UINT32_MAX;

  explicit MergeTable(size_t entries = 0) : slots_(std::bit_ceil(entries * 2 + 1)) {}

  InsertOutcome Insert(TokenId left, TokenId right, Merge merge) {
    const uint64_t key = KeyOf(left, right);
    const uint64_t hash = MixBits(key);
    for (int probe = 0; probe < kMaxProbes; ++probe) {
      Slot& slot = slots_[(hash + probe) & (slots_.size() - 1)];
      if (slot.merge.rank == kNoRank) {
        slot = {key, merge};
        return InsertOutcome::kInserted;
      }
      if (slot.key == key) return InsertOutcome::kPresent;
    }
    return InsertOutcome::kTooManyCollisions;
  }

  // rank == kNoRank: they do not merge.
  Merge Find(TokenId left, TokenId right) const {
    const uint64_t key = KeyOf(left, right);
    const uint64_t hash = MixBits(key);
    for (int probe = 0; probe < kMaxProbes; ++probe) {
      const Slot& slot = slots_[(hash + probe) & (slots_.size() - 1)];
      if (slot.key == key || slot.merge.rank == kNoRank) return slot.merge;
    }
    return {kNoRank, -1};
  }

 private:
  struct Slot {
    uint64_t key = UINT64_MAX;  // ids are not negative, so no key has this value
    Merge merge = {kNoRank, -1};
  };
  static uint64_t KeyOf(TokenId left, TokenId right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  std::vector<Slot> slots_;  // [power of two, at least twice the entries]
};

}  // namespace hunch

#endif  // HUNCH_TOKENIZER_HASH_TABLES_H_

// RowRing: committed rows on their way from the engine's thread to one that keeps them. Its slots
// are made at the start, so that neither side ever waits, allocates or calls the system. A full
// ring drops what comes: to drop the oldest instead, the engine would have to take a slot from a
// reader that may be in the middle of it, with a lock.
//
// Thread safety: one thread puts (Claim, Publish), one takes (Front, Pop); dropped() is for any.
#ifndef HUNCH_LEARN_ROW_RING_H_
#define HUNCH_LEARN_ROW_RING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "seq/types.h"

namespace hunch {

// What a row is of.
struct RowLabel {
  int64_t sequence = 0;
  int32_t position = 0;
  TokenId token = 0;   // there
  TokenId next = 0;    // behind it
  int32_t prompt = 0;  // tokens of the sequence's prompt
  float temperature = 0;
  bool last = false;  // the sequence is over
};

class RowRing {
 public:
  struct Slot {
    RowLabel& label;
    std::span<std::byte> row;  // [row_bytes]
  };

  RowRing(size_t row_bytes, int slots)
      : row_bytes_(row_bytes), labels_(slots), rows_(row_bytes * labels_.size()) {}

  size_t row_bytes() const { return row_bytes_; }

  // A slot to fill and then to Publish; none: the ring is full, and the row is counted as dropped.
  std::optional<Slot> Claim() {
    const uint64_t put = put_.load(std::memory_order_relaxed);
    if (put - taken_.load(std::memory_order_acquire) == labels_.size()) {
      dropped_.fetch_add(1, std::memory_order_relaxed);
      return std::nullopt;
    }
    return At(put);
  }
  void Publish() {
    put_.store(put_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  // The oldest row, until Pop; none: the ring is empty.
  std::optional<Slot> Front() {
    const uint64_t taken = taken_.load(std::memory_order_relaxed);
    if (taken == put_.load(std::memory_order_acquire)) return std::nullopt;
    return At(taken);
  }
  void Pop() {
    taken_.store(taken_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  int64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  Slot At(uint64_t count) {
    const size_t slot = count % labels_.size();
    return {labels_[slot], std::span(rows_).subspan(slot * row_bytes_, row_bytes_)};
  }

  const size_t row_bytes_;
  std::vector<RowLabel> labels_;  // [slots]
  std::vector<std::byte> rows_;   // [slots][row_bytes]
  // Rows since the start. On lines of their own: the two threads would take them from each other.
  alignas(64) std::atomic<uint64_t> put_{0};
  alignas(64) std::atomic<uint64_t> taken_{0};
  alignas(64) std::atomic<int64_t> dropped_{0};
};

}  // namespace hunch

#endif  // HUNCH_LEARN_ROW_RING_H_

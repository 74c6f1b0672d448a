// FakeTarget behind the engine's Target interface, with a KV memory of its own: a slot remembers
// its token, and a row's prefix is read back from the slots that the row may see. A wrong slot, a
// stale block or a tree node that was not moved changes the logits. Not thread safe.
#ifndef HUNCH_TESTS_SUPPORT_FAKE_KV_TARGET_H_
#define HUNCH_TESTS_SUPPORT_FAKE_KV_TARGET_H_

#include <vector>

#include "model/target.h"
#include "support/fake_target.h"

namespace hunch {

class FakeKvTarget : public Target {
 public:
  FakeKvTarget(FakeTarget fake, int blocks, ForwardLimits limits)
      : fake_(std::move(fake)), limits_(limits), slots_(blocks * kSlotsPerBlock, -1) {}

  int vocab() const override { return fake_.vocab(); }
  const ForwardLimits& limits() const override { return limits_; }
  Logits Forward(std::span<const SequenceRows> sequences) override;
  // Hidden states are kHidden numbers of the prefix and the tap's layer.
  static constexpr int kHidden = 2;
  static void Hidden(std::span<const TokenId> prefix, int layer, float* out);
  Logits ForwardTapped(std::span<const SequenceRows> sequences,
                       std::span<const HiddenTap> taps) override;
  void MoveSlot(std::span<const int32_t> blocks, int from, int to) override;

  int64_t passes = 0;
  int64_t rows = 0;
  int64_t moves = 0;  // slots that really changed place

 private:
  TokenId& Slot(std::span<const int32_t> blocks, int slot) {
    return slots_[blocks[slot / kSlotsPerBlock] * kSlotsPerBlock + slot % kSlotsPerBlock];
  }

  // The tokens that a row sees, its own the last.
  std::vector<TokenId> PrefixOf(const SequenceRows& sequence, int row);

  FakeTarget fake_;
  ForwardLimits limits_;
  std::vector<TokenId> slots_;
  std::vector<float> logits_;
  std::vector<float> maxima_;
};

}  // namespace hunch

#endif  // HUNCH_TESTS_SUPPORT_FAKE_KV_TARGET_H_

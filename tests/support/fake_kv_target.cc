#include "support/fake_kv_target.h"

#include <algorithm>

namespace hunch {

std::vector<TokenId> FakeKvTarget::PrefixOf(const SequenceRows& sequence, int row) {
  std::vector<TokenId> path;
  for (int at = row; at >= 0; at = sequence.parents.empty() ? at - 1 : sequence.parents[at]) {
    path.push_back(Slot(sequence.blocks, sequence.committed + at));
  }
  std::vector<TokenId> prefix;
  for (int slot = 0; slot < sequence.committed; ++slot) {
    prefix.push_back(Slot(sequence.blocks, slot));
  }
  prefix.insert(prefix.end(), path.rbegin(), path.rend());
  return prefix;
}

void FakeKvTarget::Hidden(std::span<const TokenId> prefix, int layer, float* out) {
  uint32_t sum = static_cast<uint32_t>(layer);
  for (const TokenId token : prefix) sum = sum * 31 + static_cast<uint32_t>(token) + 1;
  out[0] = static_cast<float>(sum >> 8);
  out[1] = static_cast<float>(prefix.size());
}

Logits FakeKvTarget::ForwardTapped(std::span<const SequenceRows> sequences,
                                   std::span<const HiddenTap> taps) {
  const Logits logits = Forward(sequences);
  if (taps.empty()) return logits;
  int pass_row = 0;
  for (const SequenceRows& sequence : sequences) {
    const int count = static_cast<int>(sequence.tokens.size());
    for (int row = sequence.rows_before; row < count; ++row, ++pass_row) {
      const std::vector<TokenId> prefix = PrefixOf(sequence, row);
      for (const HiddenTap& tap : taps) Hidden(prefix, tap.layer, tap.out + pass_row * kHidden);
    }
  }
  return logits;
}

Logits FakeKvTarget::Forward(std::span<const SequenceRows> sequences) {
  ++passes;
  logits_.clear();
  maxima_.clear();
  int pass_rows = 0, logit_rows = 0;
  for (const SequenceRows& sequence : sequences) {
    const int count = static_cast<int>(sequence.tokens.size());
    pass_rows += count - sequence.rows_before;
    for (int row = sequence.rows_before; row < count; ++row) {
      Slot(sequence.blocks, sequence.committed + row) = sequence.tokens[row];
    }
    for (int row = sequence.logits_from; row < count; ++row) {
      const std::vector<TokenId> prefix = PrefixOf(sequence, row);
      logits_.resize(logits_.size() + vocab());
      const std::span<float> last = std::span(logits_).last(vocab());
      fake_.Row(prefix, last);
      maxima_.resize(maxima_.size() + LogitBlocks(vocab()));
      BlockMaxima(last.data(), vocab(), &maxima_.back() + 1 - LogitBlocks(vocab()));
      ++logit_rows;
    }
  }
  rows += pass_rows;
  HUNCH_CHECK_LE(pass_rows, limits_.max_rows);
  HUNCH_CHECK_LE(logit_rows, limits_.max_logit_rows);
  return {logits_.data(), maxima_.data()};
}

void FakeKvTarget::MoveSlot(std::span<const int32_t> blocks, int from, int to) {
  if (from != to) ++moves;
  Slot(blocks, to) = Slot(blocks, from);
}

}  // namespace hunch

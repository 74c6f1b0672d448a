#include "sampling/constraint_cursor.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "base/check.h"
#include "sampling/speed_only.h"

namespace hunch {
namespace {

constexpr int kWordBits = 32;
constexpr uint32_t kAllBits = ~uint32_t{0};
constexpr float kNever = -std::numeric_limits<float>::infinity();

}  // namespace

ConstraintCursor::ConstraintCursor(std::unique_ptr<TokenConstraint> constraint, int vocab_size,
                                   size_t prompt_len)
    : constraint_(std::move(constraint)),
      vocab_size_(vocab_size),
      prompt_len_(prompt_len),
      mask_(MaskWords(vocab_size)) {
  HUNCH_CHECK(constraint_ != nullptr);
}

bool ConstraintCursor::Push(TokenId token) {
  if (!constraint_->Advance(token)) return false;
  tokens_.push_back(token);
  known_ = false;
  return true;
}

void ConstraintCursor::Pop(size_t count) {
  if (count == 0) return;
  HUNCH_CHECK_LE(count, tokens_.size());
  constraint_->Undo(static_cast<int>(count));
  tokens_.resize(tokens_.size() - count);
  known_ = false;
}

bool ConstraintCursor::MoveTo(std::span<const TokenId> prefix) {
  const std::span<const TokenId> output = prefix.subspan(std::min(prompt_len_, prefix.size()));
  size_t shared = 0;
  // SPEED ONLY: start from what the last prefix and this one share.
  if (kTakeSpeedOnlyBranches) {
    const size_t shorter = std::min(output.size(), tokens_.size());
    shared = static_cast<size_t>(
        std::mismatch(tokens_.begin(), tokens_.begin() + static_cast<std::ptrdiff_t>(shorter),
                      output.begin())
            .first -
        tokens_.begin());
  }
  Pop(tokens_.size() - shared);
  for (const TokenId token : output.subspan(shared)) {
    if (!Push(token)) return false;
  }
  return true;
}

ConstraintCursor::Allowed ConstraintCursor::After(std::span<const TokenId> prefix) {
  if (!MoveTo(prefix)) return Allowed::kNothing;
  if (!known_) {
    allowed_ = constraint_->Fill(mask_);
    known_ = true;
  }
  return allowed_;
}

bool ConstraintCursor::CompleteAfter(std::span<const TokenId> prefix) {
  return MoveTo(prefix) && constraint_->Complete();
}

void ConstraintCursor::Mask(const float* row, float* out) const {
  for (int first = 0; first < vocab_size_; first += kWordBits) {
    const int n = std::min(kWordBits, vocab_size_ - first);
    const uint32_t word = mask_[static_cast<size_t>(first / kWordBits)];
    if (word == 0) {
      std::fill_n(out + first, n, kNever);
    } else if (word == kAllBits) {
      std::copy_n(row + first, n, out + first);
    } else {
      for (int i = 0; i < n; ++i) out[first + i] = (word >> i & 1) != 0 ? row[first + i] : kNever;
    }
  }
}

TokenId ConstraintCursor::FirstAllowed() const {
  for (size_t word = 0; word < mask_.size(); ++word) {
    if (mask_[word] != 0) {
      return static_cast<TokenId>(word * kWordBits) + std::countr_zero(mask_[word]);
    }
  }
  HUNCH_CHECK(false) << "a mask without a token";
  return 0;
}

}  // namespace hunch

#include "learn/replay.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/check.h"
#include "draft/hidden_drafter.h"

namespace hunch {
namespace {

class TextReplay {
 public:
  TextReplay(const LearnedText& text, const FeatureLayout& layout, int max_rows, Drafter& drafter)
      : text_(text), layout_(layout), drafter_(drafter), hidden_(*drafter.hidden_drafter()) {
    HUNCH_CHECK_EQ(hidden_.reader().taps().size() + 1, static_cast<size_t>(layout.sources));
    pass_rows_.resize(max_rows);
    std::iota(pass_rows_.begin(), pass_rows_.end(), 0);
  }

  Status Run(PassesNeeded& passes) {
    SamplingParams params;
    params.temperature = 0;
    const std::span<const TokenId> tokens = text_.tokens;
    HUNCH_RETURN_IF_ERROR(drafter_.Start(tokens.first(text_.prompt), params));
    // The first token of the answer comes from the prompt's pass.
    int known = static_cast<int>(text_.prompt) + 1;
    while (known < text_.size()) {
      HUNCH_RETURN_IF_ERROR(TakeRowsBefore(known));
      const int left = text_.size() - known;
      HUNCH_RETURN_IF_ERROR(drafter_.Propose(
          tokens.first(known), {kReplayedGuesses, std::min(kReplayedGuesses, left), 0}, tree_));
      const int given = std::min(RightGuesses(known) + 1, left);
      ++passes.passes;
      passes.tokens += given;
      known += given;
    }
    return Ok{};
  }

 private:
  // Of all tokens that are known but for the last one.
  Status TakeRowsBefore(int known) {
    while (taken_ < known - 1) {
      const int count = std::min(known - 1 - taken_, static_cast<int>(pass_rows_.size()));
      const auto taps = hidden_.reader().taps();
      for (int row = 0; row < count; ++row) {
        const std::byte* const kept =
            text_.rows.data() + static_cast<size_t>(taken_ + row) * layout_.row_bytes();
        for (size_t tap = 0; tap < taps.size(); ++tap) {
          UnpackFeature(layout_, kept, static_cast<int>(tap),
                        taps[tap].out + static_cast<size_t>(row) * layout_.hidden);
        }
      }
      const HiddenRows rows = {std::span(text_.tokens).first(known), taken_,
                               std::span(pass_rows_).first(count)};
      HUNCH_RETURN_IF_ERROR(hidden_.TakeHidden(rows));
      hidden_.reader().Read();
      taken_ += count;
    }
    return Ok{};
  }

  // Of the tree's guesses behind the known tokens, how many come true one after the other.
  int RightGuesses(int known) const {
    int right = 0;
    int32_t node = -1;
    while (known + right < text_.size()) {
      node = tree_.FindChild(node, text_.tokens[known + right]);
      if (node == DraftTree::kNoNode) break;
      ++right;
    }
    return right;
  }

  const LearnedText& text_;
  const FeatureLayout& layout_;
  Drafter& drafter_;
  HiddenDrafter& hidden_;
  std::vector<int32_t> pass_rows_;  // [max_rows]: as they lie in the taps
  int taken_ = 0;                   // rows
  DraftTree tree_;
};

}  // namespace

Status Replay(const LearnedText& text, const FeatureLayout& layout, int max_rows, Drafter& drafter,
              PassesNeeded& passes) {
  const Status replayed = TextReplay(text, layout, max_rows, drafter).Run(passes);
  drafter.Forget();
  return replayed;
}

}  // namespace hunch

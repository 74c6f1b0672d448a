#include "tokenizer/special_matcher.h"

#include <algorithm>

namespace hunch {

SpecialMatcher::SpecialMatcher(const Vocabulary& vocabulary) {
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const bool control = vocabulary.IsControl(id);
    if (control || vocabulary.kind(id) == TokenKind::kUserDefined) {
      entries_.push_back({vocabulary.Bytes(id), id, control});
    }
  }
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return a.text < b.text; });
  for (uint32_t i = 0; i < entries_.size(); ++i) {
    Range& range = by_first_byte_[static_cast<uint8_t>(entries_[i].text[0])];
    if (range.begin == range.end) range.begin = i;
    range.end = i + 1;
  }
}

SpecialMatcher::Match SpecialMatcher::At(std::string_view text, size_t position,
                                         size_t control_end) const {
  Match best;
  Range range = by_first_byte_[static_cast<uint8_t>(text[position])];
  // Invariant: the entries in `range` are those that share text[position, position + depth).
  for (size_t depth = 1; range.begin < range.end; ++depth) {
    const Entry& shortest = entries_[range.begin];
    if (shortest.text.size() == depth) {
      if (!shortest.control || position + depth <= control_end) best = {shortest.id, depth};
      ++range.begin;
    }
    if (position + depth >= text.size()) break;
    const auto next = static_cast<uint8_t>(text[position + depth]);
    const auto byte_of = [depth](const Entry& entry) {
      return static_cast<uint8_t>(entry.text[depth]);
    };
    const auto first = entries_.begin() + range.begin;
    const auto last = entries_.begin() + range.end;
    const auto lower = std::partition_point(
        first, last, [&](const Entry& entry) { return byte_of(entry) < next; });
    const auto upper = std::partition_point(
        lower, last, [&](const Entry& entry) { return byte_of(entry) == next; });
    range = {static_cast<uint32_t>(lower - entries_.begin()),
             static_cast<uint32_t>(upper - entries_.begin())};
  }
  return best;
}

}  // namespace hunch

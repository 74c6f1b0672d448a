#include "learn/text_assembler.h"

#include <algorithm>
#include <utility>

namespace hunch {

// The text that the row belongs to, a new one where there is none; end: it has the row already.
TextAssembler::Texts::iterator TextAssembler::Find(const RowLabel& label) {
  const auto found = std::find_if(open_.begin(), open_.end(), [&](const Open& open) {
    return open.sequence == label.sequence;
  });
  if (found != open_.end()) {
    if (label.position < found->end()) return open_.end();
    const bool follows =
        label.position == found->end() && found->text.size() + 1 < kMostLearnedTokens;
    if (follows) {
      open_.splice(open_.end(), open_, found);
      return std::prev(open_.end());
    }
    Finish(found);
  }
  open_.push_back({label.sequence, label.position, label.prompt, label.next, {}});
  open_.back().text.temperature = label.temperature;
  return std::prev(open_.end());
}

void TextAssembler::Add(const RowLabel& label, std::span<const std::byte> row) {
  const auto open = Find(label);
  if (open == open_.end()) return;
  open->text.tokens.push_back(label.token);
  open->text.rows.insert(open->text.rows.end(), row.begin(), row.end());
  open->next = label.next;
  bytes_ += row_bytes_;
  if (label.last) Finish(open);
  while (bytes_ > most_bytes_) Finish(open_.begin());
}

void TextAssembler::Finish(Texts::iterator open) {
  LearnedText text = std::move(open->text);
  bytes_ -= text.rows.size();
  text.prompt = static_cast<uint32_t>(std::max(open->prompt - open->first, kLeastContext));
  text.tokens.push_back(open->next);
  text.rows.resize(text.rows.size() + row_bytes_);
  open_.erase(open);
  if (text.answer() >= kLeastAnswer) on_text_(std::move(text));
}

}  // namespace hunch

#include "draft/suffix_store.h"

#include <algorithm>

namespace hunch {

SuffixStore::SuffixStore(size_t max_tokens)
    : max_tokens_(std::clamp<size_t>(max_tokens, 1, kMostTokens)) {}

// Makes room for `needed` tokens. A quarter of the store goes at once, so that counting again is
// paid for by many additions.
void SuffixStore::Evict(size_t needed) {
  const size_t keep = std::min(max_tokens_ - needed, max_tokens_ - max_tokens_ / 4);
  size_t drop = 0;
  while (tokens_.size() - drop > keep) {
    drop += lengths_.front();
    lengths_.pop_front();
  }
  tokens_.erase(tokens_.begin(), tokens_.begin() + static_cast<ptrdiff_t>(drop));
  index_.Clear();
  size_t from = 0;
  for (const uint32_t length : lengths_) {
    for (const TokenId token : std::span(tokens_).subspan(from, length)) index_.Append(token);
    index_.EndText();
    from += length;
  }
}

void SuffixStore::Add(std::span<const TokenId> output) {
  output = output.last(std::min(output.size(), max_tokens_));
  if (output.empty()) return;
  if (tokens_.size() + output.size() > max_tokens_) Evict(output.size());
  tokens_.insert(tokens_.end(), output.begin(), output.end());
  lengths_.push_back(static_cast<uint32_t>(output.size()));
  for (const TokenId token : output) index_.Append(token);
  index_.EndText();
  ++version_;
}

}  // namespace hunch

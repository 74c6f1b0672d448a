#include "draft/suffix_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "weights/byte_cursor.h"

namespace hunch {

SuffixStore::SuffixStore(size_t max_tokens)
    : max_tokens_(std::clamp<size_t>(max_tokens, 1, kMostTokens)) {}

// Makes room for `needed` tokens. A quarter of the store goes at once, so that counting again is
// paid for by many additions.
void SuffixStore::Evict(size_t needed) {
  const size_t keep = std::min(max_tokens_ - needed, max_tokens_ - max_tokens_ / 4);
  size_t drop = 0;
  size_t requests = 0;
  while (tokens_.size() - drop > keep) drop += lengths_[requests++];
  lengths_.erase(lengths_.begin(), lengths_.begin() + static_cast<ptrdiff_t>(requests));
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

const TableKind SuffixStore::kKind = {"HUNCHSFX", "suffix store", 1};

// Payload: requests (u64), tokens (u64), the length of each output (u32), all tokens (i32).
Status SuffixStore::Save(const std::string& path, const VocabularyId& vocabulary) const {
  const std::array<uint64_t, 2> counts = {lengths_.size(), tokens_.size()};
  const std::array<std::span<const std::byte>, 3> parts = {std::as_bytes(std::span(counts)),
                                                           std::as_bytes(std::span(lengths_)),
                                                           std::as_bytes(std::span(tokens_))};
  return TableFile::Write(path, kKind, vocabulary, parts);
}

Result<std::shared_ptr<SuffixStore>> SuffixStore::Parse(const TableFile& file,
                                                        const VocabularyId& vocabulary,
                                                        size_t max_tokens) {
  ByteCursor cursor(file.payload());
  uint64_t requests = 0, count = 0;
  std::span<const std::byte> lengths, tokens;
  if (!cursor.Read(&requests) || !cursor.Read(&count) || count > kMostTokens || requests > count ||
      !cursor.ReadBytes(requests * sizeof(uint32_t), &lengths) ||
      !cursor.ReadBytes(count * sizeof(TokenId), &tokens) || cursor.left() != 0) {
    return file.Bad("its counts do not fit its size");
  }
  auto store = std::make_shared<SuffixStore>(max_tokens);
  // First the sum, then the texts: of an untrue file nothing is taken.
  uint64_t sum = 0;
  std::vector<uint32_t> each(requests);
  if (requests > 0) std::memcpy(each.data(), lengths.data(), lengths.size());
  for (const uint32_t length : each) sum += length;
  if (sum != count || std::find(each.begin(), each.end(), 0u) != each.end()) {
    return file.Bad("the lengths of its texts are wrong");
  }
  std::vector<TokenId> all(count);
  if (count > 0) std::memcpy(all.data(), tokens.data(), tokens.size());
  for (const TokenId token : all) {
    if (token < 0 || token >= vocabulary.size) {
      return file.Bad(fmt::format("token id {} is not of the vocabulary", token));
    }
  }
  std::span<const TokenId> left = all;
  for (const uint32_t length : each) {
    // Nothing is counted that would go again.
    if (left.size() - length < store->max_tokens()) store->Add(left.first(length));
    left = left.subspan(length);
  }
  return store;
}

Result<std::shared_ptr<SuffixStore>> SuffixStore::Load(const std::string& path,
                                                       const VocabularyId& vocabulary,
                                                       size_t max_tokens) {
  HUNCH_ASSIGN_OR_RETURN(const TableFile file, TableFile::Open(path, kKind, vocabulary));
  return Parse(file, vocabulary, max_tokens);
}

}  // namespace hunch

// SuffixStore: the outputs of finished requests, as one SuffixIndex that the drafters of other
// requests look into. Whoever is handed a store sees what others put there: the caller keeps one
// for each `cache_salt`. When it is full the oldest requests' outputs go first. Not thread safe:
// all its drafters run on the engine's thread, and Save is called while they do not.
//
// Memory: at most SuffixIndex::BytesFor(max_tokens) + 12 bytes for each of max_tokens.
//
// Files (docs/formats.md): Save writes the texts, Load counts them again; so a file cannot hold
// counts that do not fit together. It is hostile input all the same.
#ifndef HUNCH_DRAFT_SUFFIX_STORE_H_
#define HUNCH_DRAFT_SUFFIX_STORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "draft/suffix_index.h"
#include "draft/table_file.h"

namespace hunch {

class SuffixStore {
 public:
  static constexpr size_t kDefaultTokens = 1 << 17;  // 30 MiB
  static constexpr size_t kMostTokens = 1 << 24;

  // max_tokens: of all outputs together; clamped to 1 .. kMostTokens.
  explicit SuffixStore(size_t max_tokens = kDefaultTokens);

  // The output of a request that is over. Of one longer than max_tokens only the end is kept.
  // Now and then this drops the oldest outputs and counts the others again: about 0.3 us for each
  // token that stays.
  void Add(std::span<const TokenId> output);

  // The newest outputs that fit into max_tokens. `vocabulary` must be the one that it was saved
  // with.
  static Result<std::shared_ptr<SuffixStore>> Load(const std::string& path,
                                                   const VocabularyId& vocabulary,
                                                   size_t max_tokens = kDefaultTokens);
  static Result<std::shared_ptr<SuffixStore>> Parse(const TableFile& file,
                                                    const VocabularyId& vocabulary,
                                                    size_t max_tokens);
  Status Save(const std::string& path, const VocabularyId& vocabulary) const;
  static const TableKind kKind;

  const SuffixIndex& index() const { return index_; }
  // Changes with every change of the index: states found before mean nothing after.
  uint64_t version() const { return version_; }
  size_t tokens() const { return tokens_.size(); }
  size_t requests() const { return lengths_.size(); }
  size_t max_tokens() const { return max_tokens_; }

 private:
  void Evict(size_t needed);

  size_t max_tokens_;
  std::vector<TokenId> tokens_;    // all outputs, oldest first
  std::vector<uint32_t> lengths_;  // of each
  SuffixIndex index_;
  uint64_t version_ = 0;
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_SUFFIX_STORE_H_

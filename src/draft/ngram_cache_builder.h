// NgramCacheBuilder: counts what follows each 2, 3 and 4 tokens of token streams, and writes the
// likeliest few as an n-gram table (ngram_table.h). The same streams in the same order give the
// same bytes. Not thread safe.
//
// Memory: at most 48 bytes for each of max_entries, whatever the corpus: when more different
// (context, token) pairs were seen, the rarest are forgotten, and after that their counts start
// anew. A stream costs about 0.5 us for each token.
#ifndef HUNCH_DRAFT_NGRAM_CACHE_BUILDER_H_
#define HUNCH_DRAFT_NGRAM_CACHE_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "draft/ngram_table.h"

namespace hunch {

struct NgramCacheOptions {
  size_t max_file_bytes = 64 << 20;  // the rarest contexts are left out beyond it
  size_t max_entries = 8 << 20;      // pairs of context and token while it is built
};

class NgramCacheBuilder {
 public:
  explicit NgramCacheBuilder(const NgramCacheOptions& options = {});

  // One text; no n-gram spans two.
  void Add(std::span<const TokenId> tokens);
  // kInvalidArgument when a token that was added is not of the vocabulary, or the bound on the size
  // is too small for a file.
  Status Write(const std::string& path, const VocabularyId& vocabulary);

 private:
  struct Entry {
    uint64_t context;
    TokenId token;
    uint32_t count;
  };
  struct Tables {
    std::vector<NgramTable::Slot> slots;
    std::vector<NgramTable::Branch> branches;
    uint64_t contexts = 0;
  };
  void Compact();
  uint32_t LeastFollowed() const;
  Tables MakeTables() const;

  NgramCacheOptions options_;
  std::vector<Entry> entries_;  // [0, sorted_): by context and token, each pair once
  size_t sorted_ = 0;
  TokenId lowest_ = 0, highest_ = 0;  // of all tokens
};

// Counts the streams and writes the table: what `hunch ngram build` does.
Status BuildNgramCache(std::span<const std::vector<TokenId>> streams, const std::string& path,
                       const VocabularyId& vocabulary, const NgramCacheOptions& options = {});

}  // namespace hunch

#endif  // HUNCH_DRAFT_NGRAM_CACHE_BUILDER_H_

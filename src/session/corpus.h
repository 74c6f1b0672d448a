// What `hunch ngram build` and `hunch vocab count` do: tokenise a corpus of text files and count.
#ifndef HUNCH_SESSION_CORPUS_H_
#define HUNCH_SESSION_CORPUS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "draft/table_file.h"
#include "tokenizer/tokenizer.h"

namespace hunch {

// Equal only for tokenizers that give every id the same bytes and kind.
VocabularyId VocabularyIdOf(const Tokenizer& tokenizer);

struct CorpusCount {
  int64_t bytes = 0;
  int64_t tokens = 0;
};

// Called as it goes on; false: stop, and nothing is written.
using OnCorpus = std::function<bool(int64_t bytes_done, int64_t bytes_total)>;

// Hands out each text of the files, tokenised: pieces of at most about a mebibyte, cut at the end
// of a line where there is one. Errors: a file that cannot be read, an empty corpus, stopped
// (kInternal).
Result<CorpusCount> ReadCorpus(const Tokenizer& tokenizer, std::span<const std::string> files,
                               const OnCorpus& on_corpus,
                               const std::function<void(std::span<const TokenId>)>& on_text);

// Writes an n-gram table (ngram_table.h) of the files' texts, in the tokens of the model at
// `model`.
Result<CorpusCount> BuildNgramFile(const std::string& model, std::span<const std::string> files,
                                   const std::string& out, const OnCorpus& on_corpus);
// Writes the `size` most frequent tokens of the files (token_list.h), end tokens among them.
Result<CorpusCount> WriteFrequentTokens(const std::string& model,
                                        std::span<const std::string> files, int size,
                                        const std::string& out, const OnCorpus& on_corpus);

}  // namespace hunch

#endif  // HUNCH_SESSION_CORPUS_H_

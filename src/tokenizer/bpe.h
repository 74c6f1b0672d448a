// Byte-pair merging of one piece of text: again and again the pair with the lowest rank, the
// leftmost of equal ones, becomes one token. O(n log n), no recursion. Belongs to one thread (it
// owns scratch).
#ifndef HUNCH_TOKENIZER_BPE_H_
#define HUNCH_TOKENIZER_BPE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "seq/types.h"
#include "tokenizer/vocabulary.h"

namespace hunch {

class BpeMerger {
 public:
  // `vocabulary` must outlive the merger.
  explicit BpeMerger(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  // Appends the tokens of `piece`. Bytes without a token are left out, as the models' own
  // tokenizers do, and their neighbours may merge.
  void Append(std::string_view piece, std::vector<TokenId>* tokens);

 private:
  void MergeShort(std::vector<TokenId>* tokens);
  void MergeLong(std::vector<TokenId>* tokens);

  const Vocabulary& vocabulary_;
  std::vector<TokenId> symbols_;          // [n] the piece as single-byte tokens
  std::vector<MergeTable::Merge> pairs_;  // [n] how symbol i merges with the one behind it
  // Of long pieces only:
  std::vector<uint32_t> next_, previous_;  // [n] the living neighbours
  std::vector<uint64_t> heap_;             // rank << 32 | symbol; smallest first
};

}  // namespace hunch

#endif  // HUNCH_TOKENIZER_BPE_H_

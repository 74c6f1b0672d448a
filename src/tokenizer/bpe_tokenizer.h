// The Tokenizer of byte-level BPE models. Immutable and thread safe: each call has its own scratch.
#ifndef HUNCH_TOKENIZER_BPE_TOKENIZER_H_
#define HUNCH_TOKENIZER_BPE_TOKENIZER_H_

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/bpe.h"
#include "tokenizer/special_matcher.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/vocabulary.h"

namespace hunch {

class BpeTokenizer final : public Tokenizer {
 public:
  explicit BpeTokenizer(Vocabulary vocabulary);
  BpeTokenizer(const BpeTokenizer&) = delete;  // matcher_ points into vocabulary_
  BpeTokenizer& operator=(const BpeTokenizer&) = delete;

  std::vector<TokenId> Encode(std::string_view text, bool parse_special) const override;
  std::vector<TokenId> EncodePieces(std::span<const TextPiece> pieces) const override;
  std::string_view TokenBytes(TokenId token) const override { return vocabulary_.Bytes(token); }
  int vocab_size() const override { return vocabulary_.size(); }
  bool IsSpecial(TokenId token) const override { return vocabulary_.IsControl(token); }
  TokenId bos() const override { return vocabulary_.bos(); }
  bool add_bos() const override { return vocabulary_.add_bos(); }
  const std::vector<TokenId>& end_tokens() const override { return vocabulary_.end_tokens(); }
  std::string_view pre_tokenizer() const override { return vocabulary_.pre_tokenizer().name; }
  std::string_view model() const override { return vocabulary_.model(); }

 private:
  // A stretch of the text in which control tokens may or may not be made.
  struct Region {
    size_t end;
    bool parse_special;
  };
  std::vector<TokenId> EncodeRegions(std::string_view text, std::span<const Region> regions) const;
  void AppendOrdinary(std::string_view text, BpeMerger* merger, std::vector<TokenId>* tokens) const;

  Vocabulary vocabulary_;
  SpecialMatcher matcher_;  // points into vocabulary_'s arena
  bool lacks_bytes_;        // some byte past ASCII has no token
};

}  // namespace hunch

#endif  // HUNCH_TOKENIZER_BPE_TOKENIZER_H_

// A tokenizer with one token per byte (0..255) and the end token 256, and the vocabulary that
// grammars see of it.
#ifndef HUNCH_TESTS_SUPPORT_BYTE_TOKENIZER_H_
#define HUNCH_TESTS_SUPPORT_BYTE_TOKENIZER_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/grammars.h"
#include "tokenizer/tokenizer.h"

namespace hunch {

class ByteTokenizer : public Tokenizer {
 public:
  static constexpr TokenId kEnd = 256;

  ByteTokenizer();
  // "<end>" is the one special token.
  std::vector<TokenId> Encode(std::string_view text, bool parse_special) const override;
  std::vector<TokenId> EncodePieces(std::span<const TextPiece> pieces) const override;
  std::string_view TokenBytes(TokenId token) const override;
  int vocab_size() const override { return 257; }
  bool IsSpecial(TokenId token) const override { return token == kEnd; }
  TokenId bos() const override { return -1; }
  bool add_bos() const override { return false; }
  const std::vector<TokenId>& end_tokens() const override { return end_tokens_; }
  std::string_view pre_tokenizer() const override { return "none"; }
  std::string_view model() const override { return "bytes"; }

 private:
  std::vector<std::string> bytes_;
  std::vector<TokenId> end_tokens_ = {kEnd};
};

GrammarVocabulary VocabularyOf(const ByteTokenizer& tokenizer);

}  // namespace hunch

#endif  // HUNCH_TESTS_SUPPORT_BYTE_TOKENIZER_H_

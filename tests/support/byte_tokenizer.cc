#include "support/byte_tokenizer.h"

namespace hunch {
namespace {

constexpr std::string_view kEndText = "<end>";

}  // namespace

ByteTokenizer::ByteTokenizer() {
  for (int byte = 0; byte < 256; ++byte) bytes_.emplace_back(1, static_cast<char>(byte));
  bytes_.emplace_back(kEndText);
}

std::vector<TokenId> ByteTokenizer::Encode(std::string_view text, bool parse_special) const {
  std::vector<TokenId> ids;
  while (!text.empty()) {
    if (parse_special && text.starts_with(kEndText)) {
      ids.push_back(kEnd);
      text.remove_prefix(kEndText.size());
    } else {
      ids.push_back(static_cast<unsigned char>(text[0]));
      text.remove_prefix(1);
    }
  }
  return ids;
}

std::vector<TokenId> ByteTokenizer::EncodePieces(std::span<const TextPiece> pieces) const {
  std::vector<TokenId> ids;
  for (const TextPiece& piece : pieces) {
    for (const TokenId id : Encode(piece.text, piece.parse_special)) ids.push_back(id);
  }
  return ids;
}

std::string_view ByteTokenizer::TokenBytes(TokenId token) const {
  if (token < 0 || token >= vocab_size()) return "";
  return bytes_[static_cast<size_t>(token)];
}

GrammarVocabulary VocabularyOf(const ByteTokenizer& tokenizer) {
  return {.size = tokenizer.vocab_size(),
          .bytes =
              [&tokenizer](TokenId token) {
                return tokenizer.IsSpecial(token) ? std::string_view()
                                                  : tokenizer.TokenBytes(token);
              },
          .end_tokens = tokenizer.end_tokens()};
}

}  // namespace hunch

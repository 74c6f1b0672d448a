// Text <-> tokens: byte-level BPE as the models' own tokenizers do it.
// A Tokenizer is immutable and thread safe once made.
#ifndef HUNCH_TOKENIZER_TOKENIZER_H_
#define HUNCH_TOKENIZER_TOKENIZER_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "seq/types.h"
#include "weights/gguf.h"

namespace hunch {

// A piece of a prompt: template text may contain special tokens, user text may not.
struct TextPiece {
  std::string text;
  bool parse_special;
};

class Tokenizer {
 public:
  // From tokenizer.ggml.*. An unknown model or pre-tokenizer is refused by name with the known
  // ones.
  static Result<std::unique_ptr<Tokenizer>> Create(const GgufFile& file);
  virtual ~Tokenizer() = default;

  // Any bytes in. Adds no BOS. Control tokens are made only with `parse_special`; added tokens that
  // the file calls user-defined (Qwen's <tool_call>) are ordinary text and always made, as the
  // models' own tokenizers do. A byte outside well-formed UTF-8 counts as a symbol character of its
  // own and decodes to itself; if the vocabulary has no token for it, it becomes U+FFFD.
  virtual std::vector<TokenId> Encode(std::string_view text, bool parse_special) const = 0;
  // Pieces are encoded as one text in which special tokens are only recognised inside pieces that
  // allow it: ordinary text on both sides of a piece border still merges.
  virtual std::vector<TokenId> EncodePieces(std::span<const TextPiece> pieces) const = 0;
  // The bytes of one token (special tokens: their text). Ids past the vocabulary give "".
  virtual std::string_view TokenBytes(TokenId token) const = 0;
  virtual int vocab_size() const = 0;
  virtual bool IsSpecial(TokenId token) const = 0;  // control tokens
  virtual TokenId bos() const = 0;                  // -1: none
  virtual bool add_bos() const = 0;
  // Every end-of-turn and end-of-text token: eos, eot, and control tokens known by name. Ascending.
  virtual const std::vector<TokenId>& end_tokens() const = 0;
  virtual std::string_view pre_tokenizer() const = 0;
  virtual std::string_view model() const = 0;  // tokenizer.ggml.model
};

// Tokens -> text, never half a character: incomplete UTF-8 waits; bytes that cannot become a
// character turn into U+FFFD each (the rule of the `decode with errors=replace` kind, one per
// maximal invalid subpart).
class StreamDecoder {
 public:
  // Text that became certain with this token's bytes.
  std::string Push(std::string_view bytes);
  // What waits, at the end of the output.
  std::string Flush();
  size_t pending_bytes() const { return pending_.size(); }

 private:
  std::string pending_;
};

// The whole text of tokens. Ids past the vocabulary give nothing.
std::string DecodeTokens(const Tokenizer& tokenizer, std::span<const TokenId> tokens);

// First id at which two vocabularies differ, as a sentence; empty when the drafter's fits the
// target's (same string and kind for every id both have; padding ids past the shorter one are
// allowed).
std::string VocabularyDifference(const Tokenizer& target, const Tokenizer& drafter);

}  // namespace hunch

#endif  // HUNCH_TOKENIZER_TOKENIZER_H_

// Cuts text into the pieces that BPE merges stay inside: the patterns that models publish, as
// hand-written scanners (a regex engine would bring its own limits on length and depth). Linear
// time, no recursion. A byte that is not part of well-formed UTF-8 counts as one character of class
// kOther, as U+FFFD would. Immutable values; a scanner belongs to one thread.
#ifndef HUNCH_TOKENIZER_PRE_TOKENIZER_H_
#define HUNCH_TOKENIZER_PRE_TOKENIZER_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace hunch {

enum class PreTokenizer {
  // 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  kGpt2,
  // Each \p{N} alone, then kGpt2 on what lies between them.
  kSmolLm,
  // (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|
  // ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|
  // \s+(?!\S)|\s+
  kQwen2,
  // kQwen2 with \p{N}{1,3}
  kLlama3,
};

// What a value of tokenizer.ggml.pre means.
struct PreTokenizerInfo {
  std::string_view name;
  PreTokenizer kind;
  bool nfc;            // text is brought to normalisation form C first
  bool ignore_merges;  // a piece that is a token as a whole is that token, whatever the merges say
  bool default_add_bos;  // when the file has no tokenizer.ggml.add_bos_token
};

// nullptr: unknown.
const PreTokenizerInfo* FindPreTokenizer(std::string_view name);
// "gpt-2, smollm, ...": for messages.
std::string KnownPreTokenizers();

class PreTokenScanner {
 public:
  PreTokenScanner(PreTokenizer kind, std::string_view text) : kind_(kind), text_(text) {}
  // The next piece, never empty; false at the end. The pieces in order are the text.
  bool Next(std::string_view* piece);

 private:
  PreTokenizer kind_;
  std::string_view text_;
  size_t position_ = 0;
  size_t span_end_ = 0;  // kSmolLm: where the stretch without numbers around position_ ends
};

}  // namespace hunch

#endif  // HUNCH_TOKENIZER_PRE_TOKENIZER_H_

// Cuts the source of a chat template into tokens, white space control included.
// Follows jinja2 with trim_blocks and lstrip_blocks on, as Hugging Face sets it. Pure function.
#ifndef HUNCH_CHAT_LEXER_H_
#define HUNCH_CHAT_LEXER_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hunch::chat {

enum class TokenKind {
  kData,           // text outside of tags; not empty
  kVariableBegin,  // {{
  kVariableEnd,
  kBlockBegin,  // {%
  kBlockEnd,
  kName,
  kString,  // with its quotes and escapes
  kInteger,
  kFloat,
  kOperator,
  kEnd  // of the template; always the last token
};

struct Token {
  TokenKind kind;
  std::string_view text;  // points into the normalised source
  int line;
};

// "\r\n" and "\r" become "\n"; one newline at the very end is dropped.
std::string NormalizeSource(std::string_view source);
// `source` must be normalised and outlive the tokens.
Result<std::vector<Token>> Tokenize(std::string_view source);

}  // namespace hunch::chat

#endif  // HUNCH_CHAT_LEXER_H_

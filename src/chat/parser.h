// Parses a whole chat template. Pure function; the result owns all it needs.
#ifndef HUNCH_CHAT_PARSER_H_
#define HUNCH_CHAT_PARSER_H_

#include <string_view>

#include "base/result.h"
#include "chat/ast.h"

namespace hunch::chat {

// kBadFile: not a well-formed template. kUnsupported: a statement that Hunch does not know.
Result<Program> ParseTemplate(std::string_view source);

}  // namespace hunch::chat

#endif  // HUNCH_CHAT_PARSER_H_

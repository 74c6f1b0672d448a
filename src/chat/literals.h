// The literals of the template language. Pure functions.
#ifndef HUNCH_CHAT_LITERALS_H_
#define HUNCH_CHAT_LITERALS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hunch::chat {

// The text of a string literal that is given with its quotes; nothing on a malformed escape.
std::optional<std::string> DecodeStringLiteral(std::string_view literal);
// Nothing when it is malformed or does not fit 64 bits. Underscores and 0x, 0o, 0b are understood.
std::optional<int64_t> DecodeInteger(std::string_view literal);
std::optional<double> DecodeFloat(std::string_view literal);

}  // namespace hunch::chat

#endif  // HUNCH_CHAT_LITERALS_H_

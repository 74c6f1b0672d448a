#include "base/utf8.h"

#include <fmt/format.h>

namespace hunch {

std::string Quote(std::string_view text) {
  constexpr size_t kLimit = 48;
  std::string quoted = "\"";
  size_t position = 0;
  while (position < text.size() && position < kLimit) {
    const Utf8Char character = DecodeUtf8(text, position);
    const auto byte = static_cast<uint8_t>(text[position]);
    // U+0080..U+009F are controls too: a terminal may act on them.
    const bool printable = character.state == Utf8State::kValid &&
                           (character.code_point >= 0xA0 || (byte >= 0x20 && byte < 0x7F)) &&
                           byte != '"' && byte != '\\';
    if (printable) {
      quoted.append(text.substr(position, character.length));
      position += character.length;
    } else {
      quoted += fmt::format("\\x{:02x}", byte);
      ++position;
    }
  }
  quoted += position < text.size() ? fmt::format("\"... ({} bytes)", text.size()) : "\"";
  return quoted;
}

}  // namespace hunch

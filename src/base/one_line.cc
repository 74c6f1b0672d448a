#include "base/one_line.h"

#include "base/utf8.h"

namespace hunch {

std::string OneLine(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  for (size_t position = 0; position < text.size();) {
    const Utf8Char character = DecodeUtf8(text, position);
    const uint32_t code_point = character.code_point;
    if (character.state != Utf8State::kValid) {
      line += kReplacementCharacter;
    } else if (code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0)) {
      line += ' ';
    } else {
      line += text.substr(position, character.length);
    }
    position += character.length;
  }
  return line;
}

}  // namespace hunch
